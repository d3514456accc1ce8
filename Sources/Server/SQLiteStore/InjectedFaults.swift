import Threads

/// Makes the database refuse to grow, for tests of a full disk (`PRAGMA max_page_count`).
package final class InjectedFaults: Sendable {
    private let limit = Monitor<Int?>(nil)

    /// Creates faults that are switched off.
    package init() {}

    /// The maximum number of pages of the database; `nil` means SQLite's own maximum.
    package var pageLimit: Int? {
        get { limit.withLock { $0 } }
        set { limit.withLock { $0 = newValue } }
    }
}
