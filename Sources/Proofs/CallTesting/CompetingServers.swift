import CallCore
import CallPorts
import Threads

/// The servers of a case, each with a store of the same database; several may run on one machine.
final class CompetingServers {
    /// A server, of which a case needs only the store.
    final class Server {
        let node: String
        let reports: StoreReports
        fileprivate var store: (any CallStore)?
        private var ticket: UInt64 = 0

        /// A server with a store that passes its reports to `reports`.
        init(node: String, reports: StoreReports, store: any CallStore) {
            self.node = node
            self.reports = reports
            self.store = store
        }

        @discardableResult
        func open() throws -> StoredState {
            guard let store else { throw StoreContract.Violation(description: "\(node) is closed") }
            return try store.open(at: Moment(milliseconds: 1_700_000_000_000))
        }

        /// Queues a commit that adds an event to the timeline of call 1, without waiting.
        ///
        /// The event's name consists of the server's node and the ticket, such as `a1`. With `bytes`, the commit also
        /// has a log entry of that size.
        /// - Returns: The ticket.
        @discardableResult
        func commit(weighing bytes: Int = 0) -> UInt64 {
            ticket += 1
            var changes: [Change] = [
                .call(Sample.call(1)), .event(Sample.number(1), Sample.event("\(node)\(ticket)")),
            ]
            if bytes > 0 {
                let object = String(repeating: "x", count: bytes)
                changes.append(.entry(Sample.number(1), Sample.entry(ticket, object)))
            }
            _ = store?.commit(changes, as: Ticket(rawValue: ticket))
            return ticket
        }

        /// Commits as ``commit(weighing:)`` does, and waits until the commit is durable.
        func save() throws {
            let ticket = commit()
            try wait(for: ticket)
        }

        /// Waits until the commit with this ticket is durable.
        func wait(for ticket: UInt64) throws {
            try reports.wait("ticket \(ticket) of \(node) committed") { $0.committed.last?.rawValue ?? 0 >= ticket }
        }

        /// Returns the names of all events of call 1, in order.
        func events() throws -> [String] {
            let id = StoreQueryID(rawValue: UInt64(reports.now.results.count) + 1)
            store?.submit(.timeline(CallSelector(Sample.call(1).id)), as: id)
            let found = try reports.wait("the result of the query") { $0.results[id] != nil }
            guard case .timeline(_, let events) = found.results[id] else {
                throw StoreContract.Violation(description: "the query for the timeline failed")
            }
            return events.map(\.event.name)
        }

        /// Closes the store cleanly.
        func close() {
            store?.close()
            store = nil
        }

        /// Drops the store without closing it, as a crash does.
        func crash() { store = nil }
    }

    let storage: any OwnershipContract.Storage
    private var servers: [Server] = []

    init(storage: any OwnershipContract.Storage) { self.storage = storage }

    /// Returns a new server on a machine, with a store that is not open yet.
    func server(_ node: String) -> Server {
        let reports = StoreReports()
        let server = Server(node: node, reports: reports, store: storage.makeStore(node: node) { reports.add($0) })
        servers.append(server)
        return server
    }

    /// Opens the stores of several new servers at the same time, each on a thread of its own.
    /// - Returns: The servers whose store could be opened.
    func race(_ nodes: [String]) throws -> [Server] {
        let stores = nodes.map { node in
            let server = server(node)
            return (server, server.store)
        }
        let winners = Monitor<[Int]>([])
        let threads = try stores.enumerated().map { index, item in
            let store = item.1
            return try WorkThread(named: "claimer \(index)") {
                // The case expects that all stores but one cannot be opened.
                guard (try? store?.open(at: Moment(milliseconds: 0))) != nil else { return }
                winners.withLock { $0.append(index) }
            }
        }
        for thread in threads { thread.join() }
        return winners.withLock { $0 }.map { stores[$0].0 }
    }

    /// Blocks the thread for a time.
    func sleep(milliseconds: Int64) {
        // The condition is never met, so the wait lasts until the deadline.
        _ = Monitor(()).wait(until: .now + .milliseconds(milliseconds)) { _ in nil as Bool? }
    }

    /// Ends all faults, and closes the stores that are still open.
    func closeIfOpen() {
        for server in servers {
            // A fault that goes on would delay the closing. If a fault cannot be ended, the closing takes longer.
            try? storage.cause(.none, at: server.node)
            server.close()
        }
    }
}
