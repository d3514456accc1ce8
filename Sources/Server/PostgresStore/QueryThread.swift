import CallPorts
import Postgres
import Storing
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

    func put(_ queries: [WriterQueue.SubmittedQuery]) { loop.queue.put(queries) }

    /// Ensures that queries that are added from now on use a new connection.
    ///
    /// After the writer has connected again, the old connection may be one to a former primary, which lacks commits.
    func reconnect() { loop.control.withLock { $0.connections += 1 } }

    /// Runs the queries that are queued, except those of the lane `bulk`, ends the thread, and waits for its end.
    ///
    /// If the database does not respond, the queries fail. With `isAbandoned`, they are dropped.
    func close(isAbandoned: Bool) {
        loop.control.withLock { $0.ending = isAbandoned ? .abandoned : .closing }
        loop.urgent.signal()
        loop.queue.close()
        thread.join()
    }

    /// The loop that the thread runs.
    private struct QueryLoop: Sendable {
        /// The state that other threads change.
        struct Control {
            enum Ending { case closing, abandoned }

            /// How many connections the writer has had.
            var connections = 0
            /// Whether the running query is one of the lane `bulk`, for which a closing store does not wait.
            var runsBulk = false
            var ending: Ending?
        }

        let queue = QueryQueue()
        let control = Monitor(Control())
        /// Interrupts the wait for the result of a query when the thread has to end.
        let urgent = WakeUp()
        let options: StoreOptions
        let damages: DamageLog
        let report: @Sendable (StoreReport) -> Void

        func run() {
            var connection: Connection?
            var connections = 0
            while let next = queue.next() {
                let current = control.withLock { $0 }
                if case .abandoned? = current.ending { return }
                guard case .run(let submitted) = next else {
                    if case .refuse(let submitted) = next { report(.queryResult(submitted.id, .failed(.closing))) }
                    continue
                }
                if current.connections != connections { connection = nil }
                connections = current.connections
                control.withLock { $0.runsBulk = submitted.query.lane == .bulk }
                var unreachable: StoreFailure?
                let result = run(submitted.query, &connection, &unreachable)
                for damage in damages.take() { report(.damaged(damage)) }
                report(.queryResult(submitted.id, result))
                // If the database cannot be reached, the queries that are already queued fail as well, because each
                // further attempt might take as long.
                if let unreachable {
                    for waiting in queue.takeAll() { report(.queryResult(waiting.id, .failed(unreachable))) }
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
                        return try QueryRunner(open, damages: damages).run(query)
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
                let current = control.withLock { $0 }
                return switch current.ending {
                case nil: waited < .milliseconds(options.queryMilliseconds)
                case .closing: !current.runsBulk && waited < .milliseconds(options.stallMilliseconds)
                case .abandoned: false
                }
            }
            return try Connection.open(options, for: .queries, waiting: wait)
        }
    }
}
