import CallCore
import Switchboard
import Threads

/// Up to which moment of issue whose tokens are refused, as the door of every loop must know it.
///
/// The switchboard decides; this copy of what it says lets a revoked token have its 401 before a connection is made.
final class Revocations: Sendable {
    private let moments = Locked<[UserID: Moment]>([:])

    func note(_ user: UserID, before moment: Moment) { moments.withLock { $0[user] = moment } }

    /// Whether a token is refused, as far as is known here.
    func covers(_ who: Who) -> Bool {
        guard let moment = moments.withLock({ $0[who.user] }) else { return false }
        return who.isRevoked(before: moment)
    }
}
