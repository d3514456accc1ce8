import CallCore
import CallPorts
import Threads

/// The queries that wait for a store's query thread, in a lane for each kind of work.
///
/// A thread that runs queries takes them one by one, so a page of a long list waits behind all that calls and users
/// wait for. Within a lane the users take turns.
package final class QueryQueue: Sendable {
    /// The result of waiting for a query.
    package enum Next: Sendable {
        /// Run the query.
        case run(WriterQueue.SubmittedQuery)
        /// Report that the query was not run: the store is closing, and does not wait for such work.
        case refuse(WriterQueue.SubmittedQuery)
    }

    private struct State {
        var lanes = QueryLanes()
        var isClosed = false
    }

    private let state = Monitor(State())

    /// Creates an empty queue.
    package init() {}

    /// Adds queries.
    package func put(_ queries: [WriterQueue.SubmittedQuery]) {
        state.withLock { state in for query in queries { state.lanes.put(query) } }
    }

    /// Waits for the query to run next; `nil` once the queue is closed and empty.
    package func next() -> Next? {
        state.wait { state -> Next?? in
            guard let query = state.lanes.next() else { return state.isClosed ? .some(nil) : nil }
            return state.isClosed && query.query.lane == .bulk ? .refuse(query) : .run(query)
        }
    }

    /// Takes everything that waits.
    package func takeAll() -> [WriterQueue.SubmittedQuery] {
        state.withLock { state in
            var taken: [WriterQueue.SubmittedQuery] = []
            while let query = state.lanes.next() { taken.append(query) }
            return taken
        }
    }

    /// Says that nothing more will come.
    package func close() { state.withLock { $0.isClosed = true } }
}

/// Queries by lane and user.
struct QueryLanes {
    /// After this many queries of more urgent lanes, a waiting lane has a turn.
    static let patience = 16

    private var lanes = [Lane](repeating: Lane(), count: QueryLane.allCases.count)

    mutating func put(_ query: WriterQueue.SubmittedQuery) { lanes[query.query.lane.rawValue].put(query) }

    /// Removes and returns the query to run next.
    mutating func next() -> WriterQueue.SubmittedQuery? {
        let waiting = lanes.indices.filter { !lanes[$0].isEmpty }
        guard let first = waiting.first else { return nil }
        let chosen = waiting.last { lanes[$0].passed >= Self.patience } ?? first
        for lane in waiting where lane > chosen { lanes[lane].passed += 1 }
        lanes[chosen].passed = 0
        return lanes[chosen].next()
    }

    /// The queries of one lane.
    private struct Lane {
        /// How many queries of more urgent lanes were run while this lane waited.
        var passed = 0
        private var queues: [UserID?: FirstInFirstOut<WriterQueue.SubmittedQuery>] = [:]
        private var turns = FirstInFirstOut<UserID?>()

        var isEmpty: Bool { turns.isEmpty }

        mutating func put(_ query: WriterQueue.SubmittedQuery) {
            let user = query.query.user
            if queues[user] == nil { turns.append(user) }
            queues[user, default: FirstInFirstOut()].append(query)
        }

        mutating func next() -> WriterQueue.SubmittedQuery? {
            guard let user = turns.removeFirst(), let query = queues[user]?.removeFirst() else { return nil }
            if queues[user]?.isEmpty == true { queues[user] = nil } else { turns.append(user) }
            return query
        }
    }
}

/// Elements that leave in the order in which they came.
private struct FirstInFirstOut<Element> {
    private var elements: [Element?] = []
    private var first = 0

    var isEmpty: Bool { first == elements.count }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[first]
        elements[first] = nil
        first += 1
        // The room of those that left is given back now and then, so that each element is moved once on average.
        if first * 2 >= elements.count {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}
