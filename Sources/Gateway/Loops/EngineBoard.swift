import CallCore
import LibWebSockets
import SocketIO
import Switchboard
import Threads

/// The state of the Socket.IO sessions that the other loops need to answer an upgrade with the right status.
///
/// The sessions belong to the owner's loop. The owner writes, and the other loops read. The owner checks again each
/// upgrade that they accept, because the state may have changed meanwhile.
final class EngineBoard: Sendable {
    private struct State {
        /// The sessions by id, each with whether it already has a WebSocket.
        var sessions: [String: Bool] = [:]
        /// The number of each user's sessions that have not joined.
        var unjoined: [UserID: Int] = [:]
        var isDraining = false
    }

    private let state = Locked(State())

    /// Returns the refusal of an upgrade, or `nil` if it may proceed.
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
