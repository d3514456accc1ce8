package import CallPorts
import Threads

/// The queue from the event loop to the writer.
///
/// The event loop never waits to fill the queue, and the writer takes its whole content in one step.
///
/// The queue has no limit of its own. While the store is stalled, the switchboard accepts no signals except `end`. So
/// the queue grows by one end per live call, push results, last-seen updates, and requests such as a block (queued
/// although the response says that the store is unavailable), the only unbounded part.
/// `ringline_store_commits_waiting` shows the length.
package final class WriterQueue: Sendable {
    /// One commit.
    package struct Commit: Sendable {
        package let changes: [Change]
        package let ticket: Ticket

        /// Creates a commit of changes that are made durable together.
        package init(changes: [Change], ticket: Ticket) {
            self.changes = changes
            self.ticket = ticket
        }
    }

    /// One query.
    package struct SubmittedQuery: Sendable {
        package let query: StoreQuery
        package let id: StoreQueryID

        /// Creates a query whose result is reported under an id.
        package init(query: StoreQuery, id: StoreQueryID) {
            self.query = query
            self.id = id
        }
    }

    /// The contents of the queue.
    package struct Contents: Sendable {
        package var commits: [Commit] = []
        package var queries: [SubmittedQuery] = []
        /// Nothing more will come: commit what is queued, and close.
        package var isClosing = false
        /// The store was dropped without having been closed: stop immediately.
        package var isAbandoned = false

        fileprivate var isEmpty: Bool { commits.isEmpty && queries.isEmpty && !isClosing && !isAbandoned }
    }

    private let contents = Monitor(Contents())
    private let onUrgent: @Sendable () -> Void

    /// Creates an empty queue.
    ///
    /// `onUrgent`: Called when a query was queued, or the store was closed or dropped, so that a writer that waits for
    /// its database looks at the queue. A commit is not urgent.
    package init(onUrgent: @escaping @Sendable () -> Void = {}) { self.onUrgent = onUrgent }

    /// Queues a commit.
    package func put(_ commit: Commit) { contents.withLock { $0.commits.append(commit) } }

    /// Queues a query.
    package func put(_ submitted: SubmittedQuery) {
        contents.withLock { $0.queries.append(submitted) }
        onUrgent()
    }

    /// Says that nothing more will come.
    package func close() {
        contents.withLock { $0.isClosing = true }
        onUrgent()
    }

    /// Says that the store was dropped.
    package func abandon() {
        contents.withLock { $0.isAbandoned = true }
        onUrgent()
    }

    /// Whether the store was closed, so that nothing more will come.
    package var isClosing: Bool { contents.withLock { $0.isClosing } }

    /// Whether the store was dropped.
    package var isAbandoned: Bool { contents.withLock { $0.isAbandoned } }

    /// Takes everything that is queued; if the queue is empty, waits for something until the deadline.
    ///
    /// The flags for closing and abandoning stay set. A deadline in the past takes without waiting.
    package func takeAll(until deadline: ContinuousClock.Instant) -> Contents {
        contents.wait(until: deadline, for: Self.takeAll) ?? Contents()
    }

    /// Takes everything that is queued; if the queue is empty, waits for something without limit.
    package func takeAll() -> Contents { contents.wait(for: Self.takeAll) }

    private static func takeAll(_ contents: inout Contents) -> Contents? {
        if contents.isEmpty { return nil }
        var taken = Contents(isClosing: contents.isClosing, isAbandoned: contents.isAbandoned)
        swap(&taken, &contents)
        return taken
    }

    /// Takes the queued queries.
    ///
    /// Waits for a query until the deadline, or until the store is closed or dropped. The commits stay in the queue.
    package func takeQueries(until deadline: ContinuousClock.Instant) -> Contents {
        contents.wait(until: deadline) { contents in
            guard !contents.queries.isEmpty || contents.isClosing || contents.isAbandoned else { return nil }
            var taken = Contents(isClosing: contents.isClosing, isAbandoned: contents.isAbandoned)
            swap(&taken.queries, &contents.queries)
            return taken
        } ?? Contents()
    }
}
