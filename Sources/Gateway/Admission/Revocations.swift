import CallCore
import CallPorts
import Switchboard
import Threads

/// The users whose tokens were revoked, each with the moment up to which issued tokens are refused.
///
/// The switchboard decides about revocations. With this copy every loop can refuse a revoked token with 401 before a
/// connection is made.
final class Revocations: Sendable {
    private let moments = Monitor<[UserID: Moment]>([:])

    func note(_ user: UserID, before moment: Moment) { moments.withLock { $0[user] = moment } }

    /// Returns whether a token is refused, according to this copy.
    func covers(_ principal: Principal) -> Bool {
        guard let moment = moments.withLock({ $0[principal.user] }) else { return false }
        return principal.isRevoked(before: moment)
    }
}
