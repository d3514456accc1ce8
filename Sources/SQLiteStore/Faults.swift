import Threads

/// Makes the database refuse to grow, for tests of a full disk (`PRAGMA max_page_count`).
package final class Faults: Sendable {
    private let limit = Locked<Int?>(nil)

    /// Nothing is wrong at first.
    package init() {}

    /// How many pages the database may have; `nil` = as many as SQLite knows.
    package var pageLimit: Int? {
        get { limit.withLock { $0 } }
        set { limit.withLock { $0 = newValue } }
    }
}
