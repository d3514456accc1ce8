import CallCore
import CallPorts
import Switchboard
import Threads

/// The users whose tokens are refused, each with the latest refused moment of issue.
///
/// The switchboard decides about revocations. With this copy every loop can answer a revoked token with 401 before a
/// connection is made.
final class Revocations: Sendable {
    private let moments = Monitor<[UserID: Moment]>([:])

    func note(_ user: UserID, before moment: Moment) { moments.withLock { $0[user] = moment } }

    /// Returns whether a token is refused, according to this copy.
    func covers(_ who: Who) -> Bool {
        guard let moment = moments.withLock({ $0[who.user] }) else { return false }
        return who.isRevoked(before: moment)
    }
}
