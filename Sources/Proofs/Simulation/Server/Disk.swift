import CallCore
import CallPorts
import MemoryStore

/// The database of a server: what is durable, and the batches that wait to be written, in the order of their commits.
///
/// The world decides when a batch is durable, and what a crash loses.
struct Disk {
    private var tables = Tables()
    private var isOpen = false
    /// The batches that wait to be written.
    private(set) var queue: [(changes: [Change], ticket: Ticket)] = []
    /// The queries that wait until the batches before them are durable.
    private var queries: [(query: StoreQuery, id: StoreQueryID, after: Ticket)] = []
    /// How many of these batches are being written.
    private(set) var writing = 0

    /// Reads the durable state, as `CallStore.open(at:)` does; an open database counts as not closed until it is.
    mutating func open() -> StoredState {
        defer { tables.uncleanStarts += 1 }
        isOpen = true
        return tables.state
    }

    /// The durable calls with a stored log, with that log, in the order in which they began.
    var calls: [StoredCall] { tables.calls }

    /// Closes the database in order, with everything that was committed.
    mutating func close() {
        writing = queue.count
        _ = finishWriting()
        queries = []
        if isOpen { tables.uncleanStarts = max(0, tables.uncleanStarts - 1) }
        isOpen = false
    }

    /// Returns the result of a query, with the queued batches applied; `nil` = the simulated stores do not answer it.
    func answer(_ query: StoreQuery) -> StoreResult? {
        switch query {
        case .log, .epoch, .events, .heldEvents, .eventExcess: break
        case .history, .timeline, .peers, .numbers, .numberChanges: return nil
        }
        guard !queue.isEmpty else { return tables.run(query) }
        var all = tables
        for batch in queue { for change in batch.changes { all.keep(change) } }
        return all.run(query)
    }

    /// Asks for events: the query waits until everything that was committed before it is durable.
    mutating func ask(_ query: StoreQuery, as id: StoreQueryID) {
        queries.append((query, id, queue.last?.ticket ?? Ticket(rawValue: 0)))
    }

    /// Takes the queries that wait for nothing any more, each with its answer.
    mutating func takeAnswers() -> [(id: StoreQueryID, answer: StoreResult)] {
        let ready = queries.prefix { query in queue.first.map { $0.ticket > query.after } ?? true }
        queries.removeFirst(ready.count)
        return ready.map { ($0.id, tables.run($0.query)) }
    }

    /// Whether a query concerns events for the app's backend.
    static func concernsEvents(_ query: StoreQuery) -> Bool {
        switch query {
        case .events, .heldEvents, .eventExcess: true
        case .log, .epoch, .history, .timeline, .peers, .numbers, .numberChanges: false
        }
    }

    /// The result of a query that the simulated stores do not answer.
    static let notSimulated = StoreResult.failed(StoreFailure("not simulated"))

    mutating func commit(_ changes: [Change], as ticket: Ticket) { queue.append((changes, ticket)) }

    /// Makes changes durable that a transaction holds.
    mutating func apply(_ changes: [Change]) { for change in changes { tables.keep(change) } }

    /// Begins to write all queued batches.
    mutating func beginWriting() { writing = queue.count }

    /// The changes of each of the batches that are being written.
    var batchesBeingWritten: [[Change]] { queue[..<writing].map(\.changes) }

    /// Makes the batches that are being written durable, and returns the ticket of the last one.
    mutating func finishWriting() -> Ticket? {
        guard writing > 0 else { return nil }
        let ticket = queue[writing - 1].ticket
        for batch in queue[..<writing] { apply(batch.changes) }
        queue.removeFirst(writing)
        writing = 0
        return ticket
    }

    /// Loses everything that is not durable.
    ///
    /// The batches that are being written are all kept or all lost.
    mutating func crash(keepingWrites: Bool) {
        if keepingWrites { _ = finishWriting() }
        queue = []
        queries = []
        writing = 0
    }
}
