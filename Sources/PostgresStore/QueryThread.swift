import CallPorts
import Postgres
import RecordCoding
import Threads

/// Runs queries on its own thread and connection, so that a long query delays no commit.
///
/// The thread receives a query only after the changes that were queued before the query are committed, so that the
/// query sees them. It reads from the primary, because a standby may lag behind.
final class QueryThread: Sendable {
    private let inbox: Inbox<WriterQueue.SubmittedQuery>
    private let thread: WorkThread

    init(
        _ options: StoreOptions,
        on threads: StoreThreads,
        damages: DamageLog,
        report: @escaping @Sendable (StoreReport) -> Void
    ) throws(StoreFailure) {
        let loop = QueryLoop(options: options, damages: damages, report: report)
        inbox = loop.inbox
        thread = try threads.run(named: "store queries") { loop.run() }
    }

    func put(_ queries: [WriterQueue.SubmittedQuery]) { for submitted in queries { inbox.put(submitted) } }

    /// Runs the queries that are queued, ends the thread, and waits for its end.
    func close() {
        inbox.close()
        thread.join()
    }

    /// The loop that the thread runs.
    private struct QueryLoop: Sendable {
        let inbox = Inbox<WriterQueue.SubmittedQuery>()
        let options: StoreOptions
        let damages: DamageLog
        let report: @Sendable (StoreReport) -> Void

        func run() {
            var connection: Connection?
            while let next = inbox.takeAll() {
                for submitted in next.elements {
                    let result = run(submitted.query, &connection)
                    for damage in damages.take() { report(.damaged(damage)) }
                    report(.queryResult(submitted.id, result))
                }
            }
        }

        /// Runs a query; if the connection was opened before and is lost now, runs it once more on a new one.
        private func run(_ query: StoreQuery, _ connection: inout Connection?) -> StoreResult {
            for isLastTry in [connection == nil, true] {
                do throws(StoreFailure) {
                    // The connection is opened for the first query. If that fails, the next query tries again.
                    let open = if let connection { connection } else { try Connection.open(options, for: .queries) }
                    connection = open
                    do throws(PostgresError) {
                        return try QueryRunner(connection: open, damages: damages).run(query)
                    } catch {
                        if open.isLost || error.endsConnection { connection = nil }
                        if connection != nil || isLastTry { return .failed(StoreFailure(error, options)) }
                    }
                } catch {
                    return .failed(error)
                }
            }
            return .failed(StoreFailure("The query was not run."))
        }
    }
}
