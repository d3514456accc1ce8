import Switchboard
import Threads

/// Which values of a database cannot be, each once, until somebody takes note of them.
///
/// Shared by all that reads one database: a history that is asked for again and again tells of its damage once.
final class DamageLog: Sendable {
    /// How many are told apart; of a database that is damaged all over the first ones say enough.
    private static let limit = 10_000

    private struct Found {
        var known: Set<DamagedValue> = []
        var untold: [DamagedValue] = []
    }

    private let found = Locked(Found())

    func note(_ damage: DamagedValue) {
        found.withLock { found in
            guard found.known.count < Self.limit, found.known.insert(damage).inserted else { return }
            found.untold.append(damage)
        }
    }

    /// Those that nobody has taken yet.
    func take() -> [DamagedValue] {
        found.withLock { found in
            defer { found.untold = [] }
            return found.untold
        }
    }
}
