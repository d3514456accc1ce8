import CallPorts
import Postgres
import Threads

/// The queue from the event loop to the writer.
///
/// The event loop never waits to fill the queue, and the writer takes its whole content in one step.
///
/// The queue has no limit of its own. While the store is stalled, the switchboard accepts no signals except `end`. So
/// the queue grows by the ends of the calls that are live, once each, by the results of their pushes, by the devices
/// that were seen, and by requests such as a block, whose changes are queued although the response says that the store
/// is unavailable. The rate of these requests is the only unbounded part. `ringline_store_commits_waiting` shows the
/// length.
final class WriterQueue: Sendable {
    /// One commit.
    struct Commit: Sendable {
        let changes: [Change]
        let ticket: Ticket
    }

    /// One query.
    struct SubmittedQuery: Sendable {
        let query: StoreQuery
        let id: StoreQueryID
    }

    /// The contents of the queue.
    struct Contents: Sendable {
        var commits: [Commit] = []
        var queries: [SubmittedQuery] = []
        /// Nothing more will come: commit what is queued, and close.
        var isClosing = false
        /// The store was dropped without having been closed: stop immediately.
        var isAbandoned = false

        fileprivate var isEmpty: Bool { commits.isEmpty && queries.isEmpty && !isClosing && !isAbandoned }
    }

    private let contents = Monitor(Contents())
    /// Interrupts the writer's wait for the database, when a query arrives or the store is closed or dropped.
    ///
    /// A commit does not interrupt the wait.
    let urgent = WakeUp()

    func put(_ commit: Commit) { contents.withLock { $0.commits.append(commit) } }

    func put(_ submitted: SubmittedQuery) {
        contents.withLock { $0.queries.append(submitted) }
        urgent.signal()
    }

    func close() {
        contents.withLock { $0.isClosing = true }
        urgent.signal()
    }

    func abandon() {
        contents.withLock { $0.isAbandoned = true }
        urgent.signal()
    }

    /// Whether the store was closed, so that nothing more will come.
    var isClosing: Bool { contents.withLock { $0.isClosing } }
    /// Whether the store was dropped.
    var isAbandoned: Bool { contents.withLock { $0.isAbandoned } }

    /// Takes everything that is queued; if the queue is empty, waits until the deadline for something.
    ///
    /// The flags for closing and abandoning stay set.
    func takeAll(until deadline: ContinuousClock.Instant) -> Contents {
        contents.wait(until: deadline) { contents in
            guard !contents.isEmpty else { return nil }
            var taken = Contents(isClosing: contents.isClosing, isAbandoned: contents.isAbandoned)
            swap(&taken, &contents)
            return taken
        } ?? Contents()
    }

    /// Takes the queued queries without waiting, and leaves the commits in the queue.
    func takeQueries() -> [SubmittedQuery] {
        contents.withLock { contents in
            var taken: [SubmittedQuery] = []
            swap(&taken, &contents.queries)
            return taken
        }
    }
}
