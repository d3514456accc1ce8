import LibWebSockets
import SocketIO
import Threads

/// What the other loops must know of the Socket.IO sessions, which are the owner's, to answer an upgrade with the right status.
///
/// The owner writes, they read; what they let in is looked at again by the owner, for it may have changed meanwhile.
final class EngineBoard: Sendable {
    private struct State {
        /// Whether it has a WebSocket already, of each session.
        var sessions: [String: Bool] = [:]
        var strangers = 0
        var isDraining = false
    }

    private let state = Locked(State())

    /// Why an upgrade comes to nothing; `nil` when it may.
    func refusal(of knock: EngineKnock, by door: Doorkeeper) -> HTTPResponse? {
        state.withLock { state in
            switch knock {
            case .known(let sid):
                guard let hasSocket = state.sessions[sid] else { return door.response(to: .sessionUnknown, for: nil) }
                return hasSocket ? door.response(to: .badRequest, for: nil) : nil
            case .new(_, .valid, _, _):
                return state.isDraining ? door.unavailable(isDraining: true, for: nil) : nil
            case .new:
                guard state.isDraining || state.strangers >= SocketIOLimits.strangers else { return nil }
                return door.unavailable(isDraining: state.isDraining, for: nil)
            }
        }
    }

    // MARK: The owner's

    func note(_ sid: String, hasSocket: Bool) { state.withLock { $0.sessions[sid] = hasSocket } }
    func remove(_ sid: String) { state.withLock { $0.sessions[sid] = nil } }
    func note(strangers: Int) { state.withLock { $0.strangers = strangers } }
    func drain() { state.withLock { $0.isDraining = true } }
}
