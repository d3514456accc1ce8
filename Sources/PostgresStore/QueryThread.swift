import CallPorts
import Postgres
import RecordCoding
import StoreWriting
import Threads

/// Runs queries on its own thread and connection, so that a long query delays no commit.
///
/// The thread receives a query only after the changes that were queued before the query are committed, so that the
/// query sees them. It reads from the primary, because a standby may lag behind.
final class QueryThread: Sendable {
    private let loop: QueryLoop
    private let thread: WorkThread

    init(
        _ options: StoreOptions,
        on threads: StoreThreads,
        damages: DamageLog,
        report: @escaping @Sendable (StoreReport) -> Void
    ) throws(StoreFailure) {
        let loop = QueryLoop(options: options, damages: damages, report: report)
        self.loop = loop
        thread = try threads.run(named: "store queries") { loop.run() }
    }

    func put(_ queries: [WriterQueue.SubmittedQuery]) { for submitted in queries { loop.inbox.put(submitted) } }

    /// Ensures that queries that are added from now on use a new connection.
    ///
    /// After the writer has connected again, the old connection may be one to a former primary, which lacks commits.
    func reconnect() { loop.control.withLock { $0.connections += 1 } }

    /// Runs the queries that are queued, ends the thread, and waits for its end.
    ///
    /// If the database does not respond, the queries fail. With `isAbandoned`, they are dropped.
    func close(isAbandoned: Bool) {
        loop.control.withLock { $0.ending = isAbandoned ? .abandoned : .closing }
        loop.urgent.signal()
        loop.inbox.close()
        thread.join()
    }

    /// The loop that the thread runs.
    private struct QueryLoop: Sendable {
        /// The state that other threads change.
        struct Control {
            enum Ending { case closing, abandoned }

            /// How many connections the writer has had.
            var connections = 0
            var ending: Ending?
        }

        let inbox = Inbox<WriterQueue.SubmittedQuery>()
        let control = Monitor(Control())
        /// Interrupts the wait for the result of a query when the thread has to end.
        let urgent = WakeUp()
        let options: StoreOptions
        let damages: DamageLog
        let report: @Sendable (StoreReport) -> Void

        func run() {
            var connection: Connection?
            var connections = 0
            while let next = inbox.takeAll() {
                // If the database cannot be reached, the queries that are already queued fail as well, because each
                // further attempt might take as long.
                var unreachable: StoreFailure?
                for submitted in next.elements {
                    let current = control.withLock { $0 }
                    if case .abandoned? = current.ending { return }
                    if current.connections != connections { connection = nil }
                    connections = current.connections
                    let result =
                        if let unreachable { StoreResult.failed(unreachable) } else {
                            run(submitted.query, &connection, &unreachable)
                        }
                    for damage in damages.take() { report(.damaged(damage)) }
                    report(.queryResult(submitted.id, result))
                }
            }
        }

        /// Runs a query; if the connection was opened before and is lost now, runs it once more on a new one.
        private func run(
            _ query: StoreQuery,
            _ connection: inout Connection?,
            _ unreachable: inout StoreFailure?
        ) -> StoreResult {
            for isLastTry in [connection == nil, true] {
                do throws(StoreFailure) {
                    // The connection is opened for the first query. If that fails, a later query tries again.
                    let open = if let connection { connection } else { try connect() }
                    connection = open
                    do throws(PostgresError) {
                        return try QueryRunner(connection: open, damages: damages).run(query)
                    } catch {
                        if open.isLost || error.endsConnection { connection = nil }
                        if error.state == .givenUp { throw StoreFailure(error, options) }
                        if connection != nil || isLastTry { return .failed(StoreFailure(error, options)) }
                    }
                } catch {
                    unreachable = error
                    return .failed(error)
                }
            }
            return .failed(StoreFailure("The query was not run."))
        }

        /// Connects; a store that is closed waits for a response for `stallMilliseconds` at most.
        private func connect() throws(StoreFailure) -> Connection {
            let wait = ResponseWait(wakeUp: urgent) { [control, options] _, waited in
                switch control.withLock({ $0.ending }) {
                case nil: true
                case .closing: waited < .milliseconds(options.stallMilliseconds)
                case .abandoned: false
                }
            }
            return try Connection.open(options, for: .queries, waiting: wait)
        }
    }
}
