package import CallCore
package import CallPorts
import Storing
import Threads

/// A store that keeps calls, devices and blocks in a PostgreSQL database.
///
/// One thread of the store writes. A commit that it reports as durable survives a crash of the database's machine; with
/// a synchronous standby, it also survives the loss of that machine. A second thread runs queries. One Ringline server
/// at a time owns the database; Decision 0017 describes how.
package final class PostgresCallStore: ReleasableStore {
    private let writer: Writer

    /// Creates a store in a database.
    ///
    /// The store does not connect before ``open(at:)``.
    /// - Parameters:
    ///   - options: The database, and how the store uses it.
    ///   - report: Called with the results of commits and queries, on the store's threads. `report` must not wait for
    ///     the store, but it may release the store.
    package init(_ options: StoreOptions, report: @escaping @Sendable (StoreReport) -> Void) {
        writer = Writer(options: options, report: report)
    }

    /// Stops without committing what is queued, and without releasing the database: the lease runs out.
    deinit {
        writer.queue.abandon()
        writer.joinIfStarted()
    }

    /// Claims the database and opens the store; see `CallStore.open(at:)`.
    ///
    /// While another server owns the database, this waits as ``StoreOptions/ownerWait`` says.
    package func open(at now: Moment) throws(StoreFailure) -> StoredState { try writer.start(at: now) }

    /// Queues changes; see `CallStore.commit(_:as:)`.
    ///
    /// Changes that are queued after ``close()`` are lost.
    /// - Returns: Always `false`: the commit is reported later, because the database takes time.
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

    /// The ownership that the claim has begun; see `ClaimedStore.epoch`.
    var claimedEpoch: OwnerEpoch { writer.claimed.withLock { $0.epoch } }
    /// The other nodes that the claim of a node has found; see `ClaimedStore.others`.
    var otherNodes: Set<NodeID> { writer.claimed.withLock { $0.others } }

    /// Commits what is queued, and releases the database so that another server can claim it at once.
    ///
    /// A stalled store tries once more to commit, and then gives up.
    package func close() { close(releasingTo: nil) }

    /// Commits what is queued, as ``close()`` does, and releases the database to a node; see
    /// `ReleasableStore.close(releasingTo:)`.
    package func close(releasingTo heir: NodeID?) {
        writer.heir.withLock { $0 = heir }
        writer.queue.close()
        writer.joinIfStarted()
    }
}
