import CallCore
import CallWire
public import LibWebSockets
import SocketIO
import Switchboard

extension Gateway: ServerDelegate {
    /// Checks the upgrade of a browser or an app: its origin, its token and its device's name.
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

    /// Handles a connection that is open: the switchboard has it as a session from now on.
    public func opened(_ connection: ConnectionID) {
        if openedSocketIO(connection) { return }
        guard let admission = admitted.removeValue(forKey: connection) else { return }
        feed(.opened(SessionID(rawValue: connection.rawValue), admission.who, device: admission.device))
    }

    /// Handles a complete text message.
    public func received(_ message: RawSpan, on connection: ConnectionID) {
        if let engine = engines.byConnection[connection] {
            handle(.socketReceived(message.withUnsafeBytes { Array($0) }), engine)
            return
        }
        // The switchboard does not keep the array after this call, except for a message that waits in the inbox.
        var bytes: [UInt8] = []
        swap(&bytes, &received)
        message.withUnsafeBytes { bytes.append(contentsOf: $0) }
        feed(.received(SessionID(rawValue: connection.rawValue), bytes))
        bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptBytes)
        swap(&bytes, &received)
    }

    /// The largest capacity, in bytes, that the buffer for messages keeps for the next one.
    private static let keptBytes = 16_384

    /// Handles a pong.
    public func receivedPong(_ payload: RawSpan, on connection: ConnectionID) {
        ponged(PingPayload.number(in: payload), on: connection)
    }

    /// Handles a ping.
    public func receivedPing(on connection: ConnectionID) { ponged(nil, on: connection) }

    /// Handles the end of a connection.
    public func closed(_ connection: ConnectionID, code: UInt16?) {
        if closedSocketIO(connection) { return }
        admitted[connection] = nil
        feed(.closed(SessionID(rawValue: connection.rawValue)))
    }

    /// Handles the expiry of the timer.
    public func timerFired() { timerDue() }

    /// Handles the end of the loop's turn, when all events that were ready have been handled.
    public func loopTurned() { turn() }
}
