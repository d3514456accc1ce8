import CallCore
import CallPorts
import LibWebSockets
import SocketIO
import Switchboard

/// Sends pings. A pong shows that everything that was sent before its ping has arrived.
extension Gateway {
    /// Sends each connection the last ping that was requested in this turn, after everything else that was sent to that
    /// connection.
    ///
    /// The last ping replaces the earlier ones, because some Socket.IO clients accept only a few packets in one
    /// response, and some clients answer only the newest ping.
    func sendPings() {
        guard !queue.pings.isEmpty else { return }
        var due: [SocketID: UInt64] = [:]
        swap(&due, &queue.pings)
        for (connection, number) in due {
            if let socketIO = socketIOSession(connection) {
                feedSession(.ping(number), socketIO)
            } else {
                ping(connection, number)
            }
        }
    }
}

/// The payload of a ping: its number in decimal digits, which the pong returns (RFC 6455 §5.5.3).
enum PingPayload {
    static func of(_ number: UInt64) -> [UInt8] { Array(String(number).utf8) }

    /// Returns the number in a pong's payload.
    ///
    /// Returns `nil` if the pong does not answer a ping of this server: any client may send unsolicited pongs.
    static func number(in payload: RawSpan) -> UInt64? {
        payload.withUnsafeBytes { bytes in
            guard (1...20).contains(bytes.count), bytes.allSatisfy({ (48...57).contains($0) }) else { return nil }
            return UInt64(String(decoding: bytes, as: UTF8.self))
        }
    }
}
