import CallCore
import CallPorts
import Switchboard
import Threads

/// The users whose tokens were revoked, each with a moment: tokens that were issued at this moment or earlier are
/// refused.
///
/// The switchboard decides about revocations. With this copy of its decisions, every loop can refuse a revoked token
/// with 401 before a connection is made.
final class Revocations: Sendable {
    private let moments = Monitor<[UserID: Moment]>([:])

    func note(_ user: UserID, upTo moment: Moment) { moments.withLock { $0[user] = moment } }

    /// All revocations: the users, each with its moment.
    var all: [UserID: Moment] { moments.withLock { $0 } }

    /// Returns whether a token is refused, according to this copy.
    func covers(_ principal: Principal) -> Bool {
        guard let moment = moments.withLock({ $0[principal.user] }) else { return false }
        return principal.isRevoked(upTo: moment)
    }
}
