import CallCore
package import CallPorts
import Threads

/// The test bench of a case: it opens stores one after another at one place, and collects their reports.
final class StoreBench {
    private let storage: any StoreContract.Storage
    private var store: (any CallStore)?
    private(set) var reports = StoreReports()
    private var lastTicket: UInt64 = 0
    private var lastQuery: UInt64 = 0

    init(storage: any StoreContract.Storage) { self.storage = storage }

    /// Opens a store that finds the data stored so far.
    ///
    /// Tickets start again at 1, as in a new process.
    @discardableResult
    func open() throws -> StoredState {
        let reports = StoreReports()
        self.reports = reports
        lastTicket = 0
        let store = storage.makeStore { reports.add($0) }
        self.store = store
        return try store.open(at: Moment(milliseconds: 1_700_000_000_000))
    }

    /// Queues changes without waiting.
    @discardableResult
    func commit(_ changes: [Change]) -> Ticket {
        lastTicket += 1
        let ticket = Ticket(rawValue: lastTicket)
        // A store whose commits are durable immediately sends no report.
        if store?.commit(changes, as: ticket) == true { reports.add(.committed(upTo: ticket)) }
        return ticket
    }

    /// Queues changes and waits until they are durable.
    func save(_ changes: [Change]) throws {
        let ticket = commit(changes)
        try reports.wait("ticket \(ticket.rawValue) committed") { $0.committed.last.map { $0 >= ticket } ?? false }
    }

    /// Submits a query and waits for the result.
    func query(_ query: StoreQuery) throws -> StoreResult {
        let id = submit(query)
        return try result(of: id)
    }

    /// Submits a query without waiting.
    func submit(_ query: StoreQuery) -> StoreQueryID {
        lastQuery += 1
        let id = StoreQueryID(rawValue: lastQuery)
        store?.submit(query, as: id)
        return id
    }

    /// Waits for the result of a query.
    func result(of id: StoreQueryID) throws -> StoreResult {
        let found = try reports.wait("query \(id.rawValue) completed") { $0.results[id] != nil }
        guard let result = found.results[id] else { throw StoreContract.Violation(description: "no result") }
        return result
    }

    /// Returns a user's history; without a user, that of all.
    func history(_ user: UserID?, limit: Int = 100, before: Int64? = nil) throws -> [CallRecord] {
        let result = try query(.history(user, limit: limit, before: before.map(CallNumber.init(rawValue:))))
        guard case .history(let calls) = result else {
            throw StoreContract.Violation(description: "the result of a query for history was \(result)")
        }
        return calls
    }

    /// Returns the timeline of a call.
    func timeline(_ id: CallID, _ user: UserID? = nil) throws -> (CallRecord?, [TimelineRecord]) {
        try timeline(CallSelector(id, of: user.map { [$0] } ?? []))
    }

    /// Returns the timeline of a call.
    func timeline(_ choice: CallSelector) throws -> (CallRecord?, [TimelineRecord]) {
        let result = try query(.timeline(choice))
        guard case .timeline(let call, let events) = result else {
            throw StoreContract.Violation(description: "the result of a query for a timeline was \(result)")
        }
        return (call, events)
    }

    /// Returns the calls with a stored log, oldest first: the live ones that a start has read, and the ended ones, whose
    /// logs are read here.
    func calls(_ state: StoredState) throws -> [StoredCall] {
        let ended = try state.ended.map { end in
            guard case .log(let call?) = try query(.log(end.identity.number)) else {
                throw StoreContract.Violation(description: "no log of \(end.identity.number.rawValue)")
            }
            try expect(EndedCall(call.record), end, "what a start has read of \(end.identity.number.rawValue)")
            return call
        }
        return (state.calls + ended).sorted { $0.record.number < $1.record.number }
    }

    /// Closes the open store cleanly; does nothing if no store is open.
    func close() {
        store?.close()
        store = nil
    }

    /// Drops the store without closing it, as a crash does.
    func crash() { store = nil }

    /// Closes the store and opens it again.
    func reopen() throws -> StoredState {
        close()
        return try open()
    }

    /// Closes the store if it is still open.
    func closeIfOpen() { close() }

    /// Closes the store several times.
    func close(times: Int) {
        for _ in 1..<times { store?.close() }
        close()
    }
}

/// The reports of a store so far.
package final class StoreReports: Sendable {
    /// The contents of the reports.
    package struct Found: Sendable {
        /// The tickets up to which commits were reported as durable, in order.
        package var committed: [Ticket] = []
        /// The results of queries.
        package var results: [StoreQueryID: StoreResult] = [:]
        /// Queries whose results were reported more than once.
        package var repeated: [StoreQueryID] = []
        /// The messages of stalls, depositions and failed queries, in order.
        package var failures: [String] = []
        /// The reports in order, such as `committed 1`, `answered 1`, `failed 2`, `stalled`, `recovered`, `deposed`,
        /// `behind 3 0` (resent and lost commits), and `damaged call.ended_at`.
        package var reported: [String] = []
    }

    private let found = Monitor(Found())
    private let holdsResults = Monitor(false)

    /// Creates an empty collection.
    package init() {}

    /// Adds a report; from any thread.
    package func add(_ report: StoreReport) {
        found.withLock { Self.add(report, to: &$0) }
        guard case .queryResult = report else { return }
        holdsResults.wait(until: .now + Self.patience) { $0 ? nil : () }
    }

    /// Stops the store's thread that runs queries, once it has added the next result, until ``releaseResults()``.
    package func holdResults() { holdsResults.withLock { $0 = true } }

    /// Lets the thread that runs queries go on.
    package func releaseResults() { holdsResults.withLock { $0 = false } }

    private static func add(_ report: StoreReport, to found: inout Found) {
        switch report {
        case .committed(let ticket):
            found.committed.append(ticket)
            found.reported.append("committed \(ticket.rawValue)")
        case .queryResult(let id, let result):
            if found.results[id] != nil { found.repeated.append(id) }
            found.results[id] = result
            if case .failed(let failure) = result {
                found.reported.append("failed \(id.rawValue)")
                found.failures.append(failure.message)
            } else {
                found.reported.append("answered \(id.rawValue)")
            }
        case .stalled(let failure):
            found.reported.append("stalled")
            found.failures.append(failure.message)
        case .damaged(let damage): found.reported.append("damaged \(damage.table).\(damage.column)")
        case .recovered: found.reported.append("recovered")
        case .deposed(let failure):
            found.reported.append("deposed")
            found.failures.append(failure.message)
        case .behind(let resent, let lost): found.reported.append("behind \(resent) \(lost)")
        }
    }

    /// All reports so far.
    package var now: Found { found.withLock { $0 } }

    /// The longest wait of a test.
    private static let patience = Duration.seconds(20)

    /// Waits until a condition holds, for at most 20 seconds.
    @discardableResult
    package func wait(_ what: String, until isSo: (Found) -> Bool) throws -> Found {
        if let found = found.wait(until: .now + Self.patience, for: { isSo($0) ? $0 : nil }) { return found }
        let last = now.reported.suffix(5).joined(separator: ", ")
        throw StoreContract.Violation(description: "waited in vain for: \(what); last reports: \(last)")
    }

    /// Waits until a condition on ``Found/reported`` holds, for at most 20 seconds.
    package func wait(until isSo: ([String]) -> Bool) throws { try wait("a report") { isSo($0.reported) } }
}

/// Throws a violation unless both values are equal.
func expect<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) throws {
    guard found == expected else {
        throw StoreContract.Violation(
            description: "\(what): expected \(shortened(expected)), found \(shortened(found))"
        )
    }
}

/// Throws a violation unless the condition holds.
func expect(_ isSo: Bool, _ what: String) throws {
    guard isSo else { throw StoreContract.Violation(description: what) }
}

private func shortened(_ value: some Any) -> String {
    let text = String(describing: value)
    return text.count > 2_000 ? text.prefix(2_000) + " …" : text
}
