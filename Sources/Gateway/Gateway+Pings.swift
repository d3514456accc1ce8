import CallCore
import LibWebSockets
import SocketIO
import Switchboard

/// Pings, which show by their pongs what has arrived.
extension Gateway {
    /// Sends each session the last ping that was asked for in this turn, behind all that it was sent.
    ///
    /// It stands for the others. Some clients take few packets at once, and some answer the newest ping only.
    func sendPings() {
        guard !pingsDue.isEmpty else { return }
        var due: [SessionID: UInt64] = [:]
        swap(&due, &pingsDue)
        for (session, number) in due {
            if let engine = engine(session) {
                handle(.ping(number), engine)
            } else {
                ping(ConnectionID(rawValue: session.rawValue), number)
            }
        }
    }

    func ponged(_ number: UInt64?, on connection: ConnectionID) {
        if let engine = engines.byConnection[connection] {
            handle(.socketPonged(number), engine)
            return
        }
        let session = SessionID(rawValue: connection.rawValue)
        feed(number.map { .ponged(session, $0) } ?? .showedLife(session))
    }
}

/// A ping's number as its payload, which the pong brings back (RFC 6455 §5.5.3): decimal digits.
enum PingPayload {
    static func of(_ number: UInt64) -> [UInt8] { Array(String(number).utf8) }

    /// `nil` if it is no answer to one of ours: anybody may send pongs that nobody asked for.
    static func number(in payload: RawSpan) -> UInt64? {
        payload.withUnsafeBytes { bytes in
            guard (1...20).contains(bytes.count), bytes.allSatisfy({ (48...57).contains($0) }) else { return nil }
            return UInt64(String(decoding: bytes, as: UTF8.self))
        }
    }
}
