import CallPorts
import RecordCoding
import SQLite
import StoreWriting
import Threads

/// Runs queries on its own thread and connection, so that a long query delays no commit.
///
/// The thread receives a query only after the changes that were queued before the query are committed, so that the
/// query sees them.
final class QueryThread: Sendable {
    private let inbox: Inbox<WriterQueue.SubmittedQuery>
    private let thread: WorkThread

    init(
        _ folder: DataFolder,
        on threads: StoreThreads,
        damages: DamageLog,
        report: @escaping @Sendable (StoreReport) -> Void
    ) throws(StoreFailure) {
        let work = Work(database: folder.database, damages: damages, report: report)
        inbox = work.inbox
        thread = try threads.run(named: "store queries") { work.run() }
    }

    func put(_ queries: [WriterQueue.SubmittedQuery]) { for submitted in queries { inbox.put(submitted) } }

    /// Runs the waiting queries, closes the connection and returns.
    func close() {
        inbox.close()
        thread.join()
    }

    /// The work of the thread.
    private struct Work: Sendable {
        let inbox = Inbox<WriterQueue.SubmittedQuery>()
        let database: String
        let damages: DamageLog
        let report: @Sendable (StoreReport) -> Void

        func run() {
            var runner: QueryRunner?
            while let next = inbox.takeAll() {
                for submitted in next.elements {
                    do throws(SQLiteError) {
                        // The connection is opened for the first query. If it cannot be opened, the next query tries
                        // again.
                        let open = if let runner { runner } else { try connect() }
                        runner = open
                        let result = open.run(submitted.query)
                        for damage in damages.take() { report(.damaged(damage)) }
                        report(.queryResult(submitted.id, result))
                    } catch {
                        report(.queryResult(submitted.id, .failed(StoreFailure(error, database: database))))
                    }
                }
            }
        }

        private func connect() throws(SQLiteError) -> QueryRunner {
            let connection = try Connection(.file(path: database, .readWrite))
            try connection.pragma("query_only", "ON")
            try connection.pragma("temp_store", "MEMORY")
            return QueryRunner(connection: connection, database: database, damages: damages)
        }
    }
}
