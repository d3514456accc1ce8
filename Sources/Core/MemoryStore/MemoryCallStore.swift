package import CallCore
package import CallPorts
import Synchronization

/// A store that keeps calls, devices and blocks in the memory of this process, for `--data :memory:`.
///
/// Nothing has to be awaited: a commit is immediately as durable as it will ever be. Any thread may call the store.
package final class MemoryCallStore: CallStore {
    private let memory: Memory
    private let report: @Sendable (StoreReport) -> Void
    /// Whether the store was opened and not closed.
    private let isOpen = Mutex(false)

    /// Creates a store over a memory.
    /// - Parameters:
    ///   - memory: Where the data is stored. A store that is created later with the same memory finds it again.
    ///   - report: Called with the results of queries, from within ``submit(_:as:)``.
    package init(_ memory: Memory = Memory(), report: @escaping @Sendable (StoreReport) -> Void) {
        self.memory = memory
        self.report = report
    }

    /// Reads the data that an earlier store left in the memory; see `CallStore.open(at:)`.
    package func open(at now: Moment) -> StoredState {
        isOpen.withLock { $0 = true }
        return memory.tables.withLock { tables in
            defer { tables.uncleanStarts += 1 }
            return tables.state
        }
    }

    /// Stores changes; see `CallStore.commit(_:as:)`.
    /// - Returns: Always `true`.
    @discardableResult
    package func commit(_ changes: [Change], as ticket: Ticket) -> Bool {
        memory.tables.withLock { tables in for change in changes { tables.keep(change) } }
        return true
    }

    /// Runs the query and reports its result before returning; see `CallStore.submit(_:as:)`.
    package func submit(_ query: StoreQuery, as id: StoreQueryID) {
        report(.queryResult(id, memory.tables.withLock { $0.run(query) }))
    }

    /// Records that the store was closed cleanly; a second call does nothing.
    package func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        guard wasOpen else { return }
        memory.tables.withLock { $0.uncleanStarts = max(0, $0.uncleanStarts - 1) }
    }
}

/// The data of memory stores.
///
/// The memory is empty at first, and is freed with the last reference to this object.
package final class Memory: Sendable {
    let tables = Mutex(Tables())

    /// Creates an empty memory.
    package init() {}
}
