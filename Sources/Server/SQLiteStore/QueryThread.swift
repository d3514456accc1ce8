import CallPorts
import SQLite
import Storing
import Threads

/// Runs queries on its own thread and connection, so that a long query delays no commit.
///
/// The thread receives a query only after the changes that were queued before the query are committed, so that the
/// query sees them.
final class QueryThread: Sendable {
    private let queue: QueryQueue
    private let thread: WorkThread

    init(
        _ folder: DataFolder,
        on threads: StoreThreads,
        damages: DamageLog,
        report: @escaping @Sendable (StoreReport) -> Void
    ) throws(StoreFailure) {
        let work = Work(database: folder.database, damages: damages, report: report)
        queue = work.queue
        thread = try threads.run(named: "store queries") { work.run() }
    }

    func put(_ queries: [WriterQueue.SubmittedQuery]) { queue.put(queries) }

    /// Runs the waiting queries, except those of the lane `bulk`, closes the connection and returns.
    func close() {
        queue.close()
        thread.join()
    }

    /// The work of the thread.
    private struct Work: Sendable {
        let queue = QueryQueue()
        let database: String
        let damages: DamageLog
        let report: @Sendable (StoreReport) -> Void

        func run() {
            var runner: QueryRunner<Connection>?
            while let next = queue.next() {
                switch next {
                case .refuse(let submitted): report(.queryResult(submitted.id, .failed(.closing)))
                case .run(let submitted):
                    let result: StoreResult
                    do throws(SQLiteError) {
                        // The connection is opened for the first query. If it cannot be opened, the next query tries
                        // again.
                        let open = if let runner { runner } else { try connect() }
                        runner = open
                        result = try open.run(submitted.query)
                    } catch { result = .failed(StoreFailure(error, database: database)) }
                    for damage in damages.take() { report(.damaged(damage)) }
                    report(.queryResult(submitted.id, result))
                }
            }
        }

        private func connect() throws(SQLiteError) -> QueryRunner<Connection> {
            let connection = try Connection(.file(path: database, .readWrite))
            try connection.pragma("query_only", "ON")
            try connection.pragma("temp_store", "MEMORY")
            return QueryRunner(connection, damages: damages)
        }
    }
}
