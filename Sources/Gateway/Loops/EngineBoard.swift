import CallCore
import LibWebSockets
import SocketIO
import Switchboard
import Threads

/// What the other loops must know of the Socket.IO sessions, which are the owner's, to answer an upgrade with the right status.
///
/// The owner writes, they read; what they let in is looked at again by the owner, for it may have changed meanwhile.
final class EngineBoard: Sendable {
    private struct State {
        /// Whether it has a WebSocket already, of each session.
        var sessions: [String: Bool] = [:]
        /// How many of each user's have not joined.
        var unjoined: [UserID: Int] = [:]
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
            case .new(let beginning):
                let unjoined = beginning.who.map { state.unjoined[$0.user] ?? 0 } ?? 0
                return door.refusal(whenDraining: state.isDraining, unjoined: unjoined, for: nil)
            }
        }
    }

    // MARK: The owner's

    func note(_ sid: String, hasSocket: Bool) { state.withLock { $0.sessions[sid] = hasSocket } }
    func remove(_ sid: String) { state.withLock { $0.sessions[sid] = nil } }
    func note(unjoined count: Int, of user: UserID) { state.withLock { $0.unjoined[user] = count == 0 ? nil : count } }
    func drain() { state.withLock { $0.isDraining = true } }
}
