import CallCore
import CallWire
public import LibWebSockets
import SocketIO
import Switchboard

extension Gateway: ServerDelegate {
    /// Lets a browser or an app in: its origin, its token, its device's name.
    public func admit(_ upgrade: RequestHead, as connection: ConnectionID) -> UpgradeDecision {
        guard upgrade.listener != Self.adminListener else { return .refuse(administer(upgrade)) }
        switch door.look(at: upgrade) {
        case .decided(let decision): return decision
        case .session(let admission, let subprotocol):
            admitted[connection] = admission
            return .accept(subprotocol: subprotocol)
        case .engine(let knock): return admit(knock, as: connection)
        }
    }

    /// A connection is open: from now on it is a session.
    public func opened(_ connection: ConnectionID) {
        if openedSocketIO(connection) { return }
        guard let admission = admitted.removeValue(forKey: connection) else { return }
        feed(.opened(SessionID(rawValue: connection.rawValue), admission.who, device: admission.device))
    }

    /// A whole text message came.
    public func received(_ message: RawSpan, on connection: ConnectionID) {
        if let engine = engines.byConnection[connection] {
            handle(.socketReceived(message.withUnsafeBytes { Array($0) }), engine)
            return
        }
        // By the time this returns nobody has it any more, but for a message that has to wait its turn.
        var bytes: [UInt8] = []
        swap(&bytes, &received)
        message.withUnsafeBytes { bytes.append(contentsOf: $0) }
        feed(.received(SessionID(rawValue: connection.rawValue), bytes))
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptBytes)
        swap(&bytes, &received)
    }

    /// How large a message's memory may be to be kept for the next one.
    private static let keptBytes = 16_384

    /// A pong came.
    public func receivedPong(_ payload: RawSpan, on connection: ConnectionID) {
        ponged(PingPayload.number(in: payload), on: connection)
    }

    /// A ping came.
    public func receivedPing(on connection: ConnectionID) { ponged(nil, on: connection) }

    /// A connection is gone.
    public func closed(_ connection: ConnectionID, code: UInt16?) {
        if closedSocketIO(connection) { return }
        admitted[connection] = nil
        feed(.closed(SessionID(rawValue: connection.rawValue)))
    }

    /// The timer that was set has run out.
    public func timerFired() { timerDue() }

    /// All that was ready has been handed in.
    public func loopTurned() { turn() }
}
