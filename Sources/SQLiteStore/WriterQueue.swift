import CallPorts
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

    func put(_ commit: Commit) { contents.withLock { $0.commits.append(commit) } }
    func put(_ submitted: SubmittedQuery) { contents.withLock { $0.queries.append(submitted) } }
    func close() { contents.withLock { $0.isClosing = true } }
    func abandon() { contents.withLock { $0.isAbandoned = true } }

    /// Whether the store was closed, so that nothing more will come.
    var isClosing: Bool { contents.withLock { $0.isClosing } }

    /// Takes everything that is queued.
    ///
    /// With `waiting`, the function waits until the queue has something.
    ///
    /// The flags for closing and abandoning stay set.
    func takeAll(waiting: Bool) -> Contents {
        contents.wait { contents in
            if waiting, contents.isEmpty { return nil }
            var taken = Contents(isClosing: contents.isClosing, isAbandoned: contents.isAbandoned)
            swap(&taken, &contents)
            return taken
        }
    }

    /// Takes the queued queries.
    ///
    /// Waits for a query until the deadline, or until the store is closed or dropped. The commits stay in the queue.
    func takeQueries(until deadline: ContinuousClock.Instant) -> Contents {
        contents.wait(until: deadline) { contents in
            guard !contents.queries.isEmpty || contents.isClosing || contents.isAbandoned else { return nil }
            var taken = Contents(isClosing: contents.isClosing, isAbandoned: contents.isAbandoned)
            swap(&taken.queries, &contents.queries)
            return taken
        } ?? Contents()
    }
}
