import CallCore
import CallPorts
import LibWebSockets
import SocketIO
import Switchboard
import Threads

/// The state of the Socket.IO sessions that every loop needs to respond to an upgrade with the right status.
///
/// The sessions belong to the owner, which writes this index; all loops read it. When a loop has accepted an upgrade,
/// the owner checks the upgrade once more, because the state may have changed meanwhile.
final class SessionIndex: Sendable {
    private struct State {
        /// The sessions by id, each with whether it already has a WebSocket.
        var sessions: [String: Bool] = [:]
        /// The number of each user's sessions that have a valid token and have not joined.
        var unjoined: [UserID: Int] = [:]
        var isDraining = false
    }

    private let state = Monitor(State())

    /// Returns why an upgrade or a new session is refused, or `nil` if it may proceed.
    func refusal(of handshake: EngineHandshake, by router: RequestRouter, for origin: String?) -> Response? {
        state.withLock { state in
            switch handshake {
            case .known(let sid):
                guard let hasSocket = state.sessions[sid] else {
                    router.logRefusedSession(.sessionUnknown)
                    return router.response(to: .sessionUnknown, for: origin)
                }
                guard hasSocket else { return nil }
                router.logRefusedSession(.badRequest)
                return router.response(to: .badRequest, for: origin)
            case .new(let beginning):
                let unjoined = beginning.principal.map { state.unjoined[$0.user] ?? 0 } ?? 0
                return router.refusal(whenDraining: state.isDraining, unjoined: unjoined, for: origin)
            }
        }
    }

    // MARK: Changes by the owner

    func note(_ sid: String, hasSocket: Bool) { state.withLock { $0.sessions[sid] = hasSocket } }
    func remove(_ sid: String) { state.withLock { $0.sessions[sid] = nil } }
    func drain() { state.withLock { $0.isDraining = true } }

    /// Changes the number of a user's sessions that have not joined; `more` is 1 or -1.
    func count(_ more: Int, unjoinedOf user: UserID) {
        state.withLock { state in
            let count = (state.unjoined[user] ?? 0) + more
            state.unjoined[user] = count == 0 ? nil : count
        }
    }
}
