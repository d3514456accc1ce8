import CallCore
import CallPorts
import SQLite
import Storing

/// The database while it is open for writing, on the writer's thread.
final class WriterConnection {
    private let folder: DataFolder
    private let faults: InjectedFaults?
    private let threads: StoreThreads
    private let report: @Sendable (StoreReport) -> Void
    private let connection: Connection
    private let changes: ChangeWriter
    private var retention: Retention
    private var queryThread: QueryThread?
    private var pageLimit: Int?
    private let damages = DamageLog()

    /// Opens the database and migrates it to the schema of this version.
    init(
        folder: DataFolder,
        faults: InjectedFaults?,
        threads: StoreThreads,
        report: @escaping @Sendable (StoreReport) -> Void
    ) throws(StoreFailure) {
        self.folder = folder
        self.faults = faults
        self.threads = threads
        self.report = report
        do {
            connection = try Connection(.file(path: folder.database, .readWrite))
            try Self.configure(connection)
            try Schema.migrations.run(on: connection)
            changes = try ChangeWriter(connection)
        } catch let error as SQLiteError {
            throw StoreFailure(error, database: folder.database)
        } catch let error as Migrations.Failure {
            throw StoreFailure(error, database: folder.database)
        } catch {
            throw StoreFailure("The database \(folder.database) cannot be opened: \(error).")
        }
        retention = Retention(connection)
    }

    /// Sets WAL mode and an `fsync` for each commit: what is reported as committed survives a power cut.
    private static func configure(_ connection: Connection) throws(SQLiteError) {
        try connection.pragma("journal_mode", "WAL")
        try connection.pragma("synchronous", "FULL")
        // A checkpoint moves about 4 MB at most, and then the WAL starts over. Commits wait some milliseconds for it.
        try connection.pragma("wal_autocheckpoint", "1000")
        // The space that the WAL took in a burst or a stall is given back to the disk.
        try connection.pragma("journal_size_limit", "16777216")
        try connection.pragma("temp_store", "MEMORY")
        // Overwrites deleted rows with zeros, so that a stolen disk or a copy contains no forgotten call.
        try connection.pragma("secure_delete", "ON")
        // With mmap, an I/O error would be a SIGBUS instead of an error code.
        try connection.pragma("mmap_size", "0")
        try connection.pragma("cache_size", "-16384")
        try connection.pragma("foreign_keys", "OFF")
    }

    /// Repairs impossible values, reads the data that this start needs, and marks the store as in use.
    func begin(at now: Moment) throws(StoreFailure) -> StoredState {
        let state: StoredState
        do throws(SQLiteError) {
            try Repair.run(on: connection, damages: damages, now: now)
            state = try self.state()
            try connection.statement(Self.countUncleanStart).run()
            try retention.committed()
        } catch { throw StoreFailure(error, database: folder.database) }
        queryThread = try QueryThread(folder, on: threads, damages: damages, report: report)
        return state
    }

    private func state() throws(SQLiteError) -> StoredState {
        let queries = QueryRunner(connection, damages: damages)
        var state = try queries.registrations()
        try connection.read(Connection.statements.liveCalls, []) {
            if let call = queries.reader.call($0) { state.calls.append(StoredCall(record: call, entries: [])) }
        }
        for index in state.calls.indices {
            state.calls[index].entries = try queries.log(of: state.calls[index].record.number)
        }
        let starts = try connection.statement(Self.readUncleanStarts)
        while try starts.step() { state.uncleanStarts = Int(starts.int64(0)) }
        state.damages = damages.take()
        return state
    }

    /// Serves the queue until the store is closed or dropped.
    func serve(_ queue: WriterQueue) {
        var isClosing = false
        while !isClosing {
            var work = retention.isUnfinished ? queue.takeAll(until: .now) : queue.takeAll()
            guard !work.isAbandoned else { return release() }
            isClosing = work.isClosing
            if !work.commits.isEmpty || retention.isUnfinished {
                guard commit(work.commits, before: &work.queries, queue) else { return release() }
            }
            runQueries(work.queries)
        }
        release()
        // If this fails, the present start stays counted as unclean, which is the safe side.
        try? connection.statement(Self.uncountUncleanStart).run()
        // Closing the last connection would do the same, but SQLite skips it while a reader has the database open.
        _ = try? connection.checkpoint(.truncate)
    }

    private func release() { queryThread?.close() }

    private static let readUncleanStarts = SQL("read crashes", "SELECT value FROM meta WHERE name = 'crashes'")
    private static let countUncleanStart = SQL(
        "count crash",
        "UPDATE meta SET value = value + 1 WHERE name = 'crashes'"
    )
    private static let uncountUncleanStart = SQL(
        "uncount crash",
        "UPDATE meta SET value = max(0, value - 1) WHERE name = 'crashes'"
    )

    // MARK: Saving

    /// Commits all changes in one transaction, and tries again until the transaction succeeds.
    ///
    /// If the store stalls, the `queries`, which were queued with the commits, fail and are removed.
    /// - Returns: `false` if the store is closed or dropped and the commit still fails.
    private func commit(
        _ commits: [WriterQueue.Commit],
        before queries: inout [WriterQueue.SubmittedQuery],
        _ queue: WriterQueue
    ) -> Bool {
        var pauseSeconds = 0.05
        var isStalled = false
        while true {
            do {
                try commitOnce(commits)
                if isStalled { report(.recovered) }
                if let last = commits.last { report(.committed(upTo: last.ticket)) }
                return true
            } catch {
                let failure = StoreFailure(error, database: folder.database)
                if !isStalled {
                    report(.stalled(failure))
                    // A query must see the changes that were queued before it, and these cannot be written.
                    refuse(queries, failure)
                    queries = []
                }
                let wasClosing = queue.isClosing
                isStalled = true
                guard !wasClosing, wait(pauseSeconds, queue, failure) else { return false }
                pauseSeconds = min(pauseSeconds * 2, 1)
            }
        }
    }

    private func commitOnce(_ commits: [WriterQueue.Commit]) throws(SQLiteError) {
        try applyFaults()
        try connection.transaction { () throws(SQLiteError) in
            for commit in commits {
                for change in commit.changes {
                    try changes.write(change)
                    if case .historyForgotten = change { retention.begin() }
                }
            }
            if retention.isUnfinished { try retention.proceed() }
        }
        if retention.isUnfinished { try retention.committed() }
    }

    /// Waits before the next attempt, and refuses the queries that arrive meanwhile.
    /// - Returns: `false` if the store was dropped.
    private func wait(_ seconds: Double, _ queue: WriterQueue, _ failure: StoreFailure) -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            let arrived = queue.takeQueries(until: end)
            refuse(arrived.queries, failure)
            if arrived.isAbandoned { return false }
            if arrived.isClosing { return true }
        }
        return true
    }

    private func runQueries(_ queries: [WriterQueue.SubmittedQuery]) {
        guard !queries.isEmpty else { return }
        queryThread?.put(queries)
    }

    private func refuse(_ queries: [WriterQueue.SubmittedQuery], _ failure: StoreFailure) {
        for submitted in queries { report(.queryResult(submitted.id, .failed(failure))) }
    }

    private func applyFaults() throws(SQLiteError) {
        guard let faults, faults.pageLimit != pageLimit else { return }
        pageLimit = faults.pageLimit
        try connection.pragma("max_page_count", "\(pageLimit ?? 1_073_741_823)")
    }
}
