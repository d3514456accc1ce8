import CallCore
import CallPorts
import Postgres
import RecordCoding
import Threads

/// The thread that writes: it claims the database, commits the contents of the queue, and releases the database.
///
/// All commits that are queued when a transaction begins go into that transaction, up to its size limit (group commit).
final class Writer: Sendable {
    let queue = WriterQueue()

    private let threads = StoreThreads()
    private let options: StoreOptions
    private let report: @Sendable (StoreReport) -> Void

    private struct State {
        /// The result of the opening, until it is taken.
        var opened: Result<StoredState, StoreFailure>?
        var isRunning = false
    }

    private let state = Monitor(State())

    init(options: StoreOptions, report: @escaping @Sendable (StoreReport) -> Void) {
        self.options = options
        self.report = report
    }

    /// Starts the thread and waits until the thread has claimed the database and read its state, or has failed.
    func start(at now: Moment) throws(StoreFailure) -> StoredState {
        try state.withLock { state throws(StoreFailure) in
            try threads.run(named: "store writer") { self.run(at: now) }
            state.isRunning = true
        }
        return try state.wait { $0.opened.take() }.get()
    }

    /// Waits until the thread, if it was started, has ended.
    ///
    /// On the store's own threads this function returns immediately: such a thread ends by itself after its current
    /// report.
    func joinIfStarted() {
        guard !threads.includeCurrent else { return }
        state.wait { $0.isRunning ? nil : () }
    }

    private func run(at now: Moment) {
        do throws(StoreFailure) { try claimAndServe(at: now) } catch {
            state.withLock { $0.opened = .failure(error) }
        }
        state.withLock { $0.isRunning = false }
    }

    /// Claims the database and serves the queue; the connections are closed when this returns.
    private func claimAndServe(at now: Moment) throws(StoreFailure) {
        let (stored, owner, queries) = try claim(at: now)
        state.withLock { $0.opened = .success(stored) }
        owner.serve()
        queries.close(isAbandoned: queue.isAbandoned)
    }

    /// Claims the database and reads its state.
    ///
    /// Only the owner holds the connection afterwards: to drop it closes it.
    private func claim(at now: Moment) throws(StoreFailure) -> (StoredState, Owner, QueryThread) {
        let connection = try Connection.open(options, for: .commits, waiting: responseWait)
        let ownership = Ownership(options: options)
        let damages = DamageLog()
        _ = try Schema.prepare(connection, options)
        let (claim, uncleanStarts) = try ownership.claim(on: connection) { queue.isAbandoned }
        let stored: StoredState
        let queries: QueryThread
        do throws(StoreFailure) {
            stored = try load(connection, ownership, claim, uncleanStarts, damages, at: now)
            queries = try QueryThread(options, on: threads, damages: damages, report: report)
        } catch {
            // Nothing was served, so the next server need not wait for the lease. If the release fails, it waits.
            _ = try? ownership.release(claim, on: connection)
            throw error
        }
        return (stored, Owner(options, ownership, claim, connection, queries, queue, report), queries)
    }

    /// The rules for the waits for a response during the start, which have no limit: if a claim that waits for its
    /// standby were cancelled, it would be visible but not replicated.
    private var responseWait: ResponseWait {
        var isReported = false
        return ResponseWait(wakeUp: queue.urgent) { [options, queue] statement, waited in
            if queue.isAbandoned { return false }
            guard waited >= .milliseconds(options.stallMilliseconds) else { return true }
            if !isReported {
                isReported = true
                options.ownerWait.isDelayed(
                    """
                    The database \(options.settings.shown) has not responded for \(options.stallMilliseconds) ms; it \
                    may wait for its standby, for a lock or for its disk, or the network may be cut. (\(statement))
                    """
                )
            }
            return !options.ownerWait.isOver()
        }
    }

    /// Migrates the schema, repairs impossible values, and reads all data that a start of the server needs.
    private func load(
        _ connection: Connection,
        _ ownership: Ownership,
        _ claim: Ownership.Claim,
        _ uncleanStarts: Int64,
        _ damages: DamageLog,
        at now: Moment
    ) throws(StoreFailure) -> StoredState {
        // The version is read again: while this server waited, the previous owner may have migrated the schema.
        let version = try Schema.prepare(connection, options)
        do throws(PostgresError) {
            let fence = ownership.fenceWhileLoading(claim)
            try Schema.migrate(connection, from: version, after: fence)
            // The data is read only now: as the claim is durable, no commit of the previous owner can follow.
            try Repair(connection: connection, damages: damages, now: now).run(after: fence)
            return try StateReader(connection: connection, damages: damages).state(uncleanStarts: uncleanStarts)
        } catch { throw StoreFailure(error, options) }
    }
}
