package import CallCore
package import CallPorts
import Storing

/// A store that keeps calls, devices and blocks in one SQLite database, `ringline.sqlite`, in a data folder.
///
/// One thread of the store writes. A commit that it reports as durable survives a power cut (WAL, `synchronous=FULL`).
/// A second thread runs queries. One server at a time holds the folder; ``DataFolderReader`` can read it without holding it.
package final class SQLiteCallStore: CallStore {
    private let writer: Writer

    /// Creates a store in a data folder, which is created if it is missing.
    ///
    /// No file is touched before ``open(at:)``.
    /// - Parameters:
    ///   - folder: The folder's path.
    ///   - lockWait: How ``open(at:)`` waits while another server holds the folder. By default it throws immediately.
    ///   - report: Called with the results of commits and queries, on the store's threads. `report` must not wait for
    ///     the store, but it may release the store.
    package convenience init(
        folder: String,
        lockWait: LockWait = LockWait(),
        report: @escaping @Sendable (StoreReport) -> Void
    ) {
        self.init(folder: folder, lockWait: lockWait, faults: nil, report: report)
    }

    /// Creates a store whose database can be made to refuse to grow, for tests of a full disk.
    package init(
        folder: String,
        lockWait: LockWait = LockWait(),
        faults: InjectedFaults?,
        report: @escaping @Sendable (StoreReport) -> Void
    ) {
        writer = Writer(folder: DataFolder(path: folder), lockWait: lockWait, faults: faults, report: report)
    }

    /// Stops without committing what is queued, and releases the folder.
    ///
    /// The folder is free when the last reference is gone, or, if a report released that reference, soon after.
    deinit {
        writer.queue.abandon()
        writer.joinIfStarted()
    }

    /// Opens the store; see `CallStore.open(at:)`.
    package func open(at now: Moment) throws(StoreFailure) -> StoredState { try writer.start(at: now) }

    /// Queues changes; see `CallStore.commit(_:as:)`.
    ///
    /// Changes that are queued after ``close()`` are lost.
    /// - Returns: Always `false`: the commit is reported later, because the disk takes time.
    @discardableResult
    package func commit(_ changes: [Change], as ticket: Ticket) -> Bool {
        writer.queue.put(WriterQueue.Commit(changes: changes, ticket: ticket))
        return false
    }

    /// Queues a query; see `CallStore.submit(_:as:)`.
    ///
    /// While the store is stalled, the query fails.
    package func submit(_ query: StoreQuery, as id: StoreQueryID) {
        writer.queue.put(WriterQueue.SubmittedQuery(query: query, id: id))
    }

    /// Commits what is queued and releases the folder.
    ///
    /// A stalled store tries once more to commit, and then gives up.
    package func close() {
        writer.queue.close()
        writer.joinIfStarted()
    }
}
