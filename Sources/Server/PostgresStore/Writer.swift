import CallCore
import CallPorts
import Postgres
import Storing
import Threads

/// The thread that writes: it claims the database, commits the contents of the queue, and releases the database.
///
/// All commits that are queued when a transaction begins go into that transaction, up to its size limit (group commit).
final class Writer: Sendable {
    let queue: WriterQueue
    /// The node to which the database is released; `nil` = to any server.
    ///
    /// It is set before ``queue`` is closed.
    let heir = Monitor<NodeID?>(nil)
    /// The ownership that the claim has begun, and the other nodes that it has found; see `ClaimedStore`.
    let claimed = Monitor<(epoch: OwnerEpoch, others: Set<NodeID>)>((.none, []))

    private let thread = WriterThread<StoredState>()
    /// Interrupts the thread's wait for the database.
    private let wakeUp: WakeUp
    private let options: StoreOptions
    private let report: @Sendable (StoreReport) -> Void

    init(options: StoreOptions, report: @escaping @Sendable (StoreReport) -> Void) {
        self.options = options
        self.report = report
        let wakeUp = WakeUp()
        self.wakeUp = wakeUp
        queue = WriterQueue(onUrgent: { wakeUp.signal() })
    }

    /// Starts the thread and waits until the thread has claimed the database and read its state, or has failed.
    func start(at now: Moment) throws(StoreFailure) -> StoredState {
        try thread.start { opened throws(StoreFailure) in try self.claimAndServe(at: now, opened) }
    }

    /// Waits until the thread, if it was started, has ended; see `WriterThread.joinIfStarted()`.
    func joinIfStarted() { thread.joinIfStarted() }

    /// Claims the database and serves the queue; the connections are closed when this returns.
    private func claimAndServe(at now: Moment, _ opened: (StoredState) -> Void) throws(StoreFailure) {
        let (stored, committer, queries) = try claim(at: now)
        opened(stored)
        committer.serve()
        queries.close(isAbandoned: queue.isAbandoned)
    }

    /// Claims the database and reads its state.
    ///
    /// Only the committer holds the connection afterwards: to drop it closes it.
    private func claim(at now: Moment) throws(StoreFailure) -> (StoredState, Committer, QueryThread) {
        let wait = StartWait(options, wakeUp) { [queue] in queue.isAbandoned }
        let connection = try Connection.open(options, for: .commits, waiting: wait.responseWait)
        let ownerTable = OwnerTable(options: options, heir: heir)
        let damages = DamageLog()
        let (claim, uncleanStarts): (OwnerTable.Claim, Int64)
        do throws(StoreFailure) {
            try Schema.prepare(connection, options) { wait.isOver }
            (claim, uncleanStarts) = try ownerTable.claim(on: connection) { wait.isOver }
        } catch {
            if connection.isLost, wait.isOver { ownerTable.abandonClaim(on: connection) }
            throw error
        }
        claimed.withLock { $0.epoch = OwnerEpoch(rawValue: UInt64(max(0, claim.epoch))) }
        options.nodeClaim?.onClaim()
        let stored: StoredState
        let queries: QueryThread
        do throws(StoreFailure) {
            stored = try load(connection, ownerTable, claim, uncleanStarts, damages, wait, at: now)
            queries = try QueryThread(options, on: thread.threads, damages: damages, report: report)
        } catch {
            // Nothing was served, so the next server need not wait for the lease. If the release fails, it waits.
            _ = try? ownerTable.release(claim, on: connection)
            throw error
        }
        return (stored, Committer(options, ownerTable, claim, connection, queries, queue, wakeUp, report), queries)
    }

    /// Repairs impossible values, and reads all data that a start of the server needs.
    private func load(
        _ connection: Connection,
        _ ownerTable: OwnerTable,
        _ claim: OwnerTable.Claim,
        _ uncleanStarts: Int64,
        _ damages: DamageLog,
        _ wait: StartWait,
        at now: Moment
    ) throws(StoreFailure) -> StoredState {
        // The version is read again: while this server waited, a newer one may have migrated the schema.
        try Schema.requireKnown(connection, options)
        let fence = ownerTable.fence(claim, ticket: nil)
        let lease = try LoadingLease(options, renewal: ownerTable.renewal(claim), on: thread.threads)
        defer { lease.end() }
        do throws(PostgresError) {
            // The data is read only now: as the claim is durable, no commit of the previous owner can follow.
            try Repair.run(on: connection, after: fence, damages: damages, now: now)
            if let node = options.nodeClaim?.node {
                let others = try NodeList.others(than: node, on: connection)
                claimed.withLock { $0.others = others }
            }
        } catch { throw StoreFailure(error, options) }
        let part = try StatePart(options, proof: ownerTable.proof(claim), damages: damages, on: thread.threads)
        defer { part.end() }
        let reader = QueryRunner(connection, damages: damages)
        do throws(PostgresError) {
            let calls = try reader.liveCalls()
            // The role may have no third connection.
            var state = if let read = part.value(while: { !wait.isOver }) { read } else { try reader.registrations() }
            state.calls = calls
            return reader.finished(state, uncleanStarts: uncleanStarts)
        } catch { throw StoreFailure(error, options) }
    }
}
