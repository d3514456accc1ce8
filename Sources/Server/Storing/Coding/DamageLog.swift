package import CallPorts
import Threads

/// The impossible values that were found in a database.
///
/// Each value is listed once, until it is taken.
///
/// All readers of one database share one log, so that a history that is requested often reports its damage only once.
package final class DamageLog: Sendable {
    /// The maximum number of values that are recorded.
    ///
    /// If a database is damaged all over, the first values are enough.
    private static let limit = 10_000

    private struct Found {
        var known: Set<DamagedValue> = []
        var unreported: [DamagedValue] = []
    }

    private let found = Monitor(Found())

    /// Creates an empty log.
    package init() {}

    /// Records a value, unless it was recorded before.
    package func record(_ damage: DamagedValue) {
        found.withLock { found in
            guard found.known.count < Self.limit, found.known.insert(damage).inserted else { return }
            found.unreported.append(damage)
        }
    }

    /// Returns the recorded values that were not taken yet.
    package func take() -> [DamagedValue] {
        found.withLock { found in
            defer { found.unreported = [] }
            return found.unreported
        }
    }
}
