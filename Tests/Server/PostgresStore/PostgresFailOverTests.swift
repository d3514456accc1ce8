import CallCore
import CallPorts
import CallTesting
import Postgres
import Storing
import Testing
import Threads

@testable import PostgresStore

/// Each test has a pair of servers of its own, so they run one after another.
@Suite("A PostgreSQL database with a standby that fails over", .serialized, .timeLimit(.minutes(3)))
final class PostgresFailOverTests {
    private let pair: ReplicatedServer
    private let schema: TemporarySchema
    /// The address that always leads to the primary.
    private let front: FaultyProxy
    private let now = Moment(milliseconds: 1_800_000_000_000)
    private let number = CallNumber(rawValue: 1)

    init() throws {
        pair = try ReplicatedServer()
        schema = try TemporarySchema(on: pair.primary)
        front = try FaultyProxy(to: pair.primary.port)
    }

    deinit { front.end() }

    private func options(lease: Int64 = 30_000) throws -> StoreOptions {
        var options = schema.options
        options.settings = try pair.primary.settings(port: front.port, name: options.schema)
        options.leaseMilliseconds = lease
        return options
    }

    /// A node with its register, and with the store of its last claim.
    private final class Node {
        let storeReports = StoreReports()
        private let reports = Monitor<[OwnershipReport]>([])
        let register: PostgresOwnershipRegister

        init(_ name: String, _ options: StoreOptions) throws {
            let (reports, storeReports) = (reports, storeReports)
            register = PostgresOwnershipRegister(
                options,
                node: try #require(NodeID(name)),
                address: "\(name):1",
                version: "1",
                storeReport: { storeReports.add($0) },
                report: { report in
                    if case .loading = report { return }
                    reports.withLock { $0.append(report) }
                }
            )
            _ = try register.open()
        }

        func next() throws -> OwnershipReport {
            try #require(reports.wait(until: .now + .seconds(20)) { $0.isEmpty ? nil : $0.removeFirst() })
        }

        func claimed() throws -> ClaimedStore {
            guard case .claimed(let claimed) = try next() else { throw PostgresServer.Failure(reason: "not claimed") }
            return claimed
        }

        func claim(after epoch: UInt64) throws -> ClaimedStore {
            register.claim(after: OwnerEpoch(rawValue: epoch), above: OwnerEpoch(rawValue: epoch))
            return try claimed()
        }

        /// Reads the row, as often as it takes while the database fails over.
        func row() throws -> OwnerRow {
            let end = ContinuousClock.now + .seconds(20)
            while .now < end {
                register.read()
                if case .row(let row) = try next() { return row }
            }
            throw PostgresServer.Failure(reason: "the row cannot be read")
        }
    }

    private func commit(_ ticket: UInt64, in store: any CallStore) {
        let event = TimelineRecord(at: now, event: .other(name: "e\(ticket)", details: ""))
        _ = store.commit([.event(number, event)], as: Ticket(rawValue: ticket))
    }

    private func save(_ ticket: UInt64, in store: any CallStore, _ reports: StoreReports) throws {
        commit(ticket, in: store)
        try reports.wait { $0.contains("committed \(ticket)") }
    }

    /// The names of all events, in order.
    private func events() throws -> [String] {
        try DatabaseReader(try options()).timeline(of: number).map(\.event.name)
    }

    private func names(_ tickets: ClosedRange<UInt64>) -> [String] { tickets.map { "e\($0)" } }

    private func failOver() throws {
        try pair.failOver()
        front.retarget(to: pair.standby.port)
    }

    @Test("After a fail-over the claim of another node counts, and a late commit of the former owner is refused")
    func lateCommit() throws {
        let (first, second) = (try Node("a", try options()), try Node("b", try options()))
        let former = try first.claim(after: 0)
        try save(1, in: former.store, first.storeReports)
        try failOver()
        // The claim was on the standby.
        #expect(try second.row().epoch.rawValue == 1)
        let claimed = try second.claim(after: 1)
        commit(2, in: former.store)
        try first.storeReports.wait { $0.contains("deposed") }
        #expect(!first.storeReports.now.reported.contains("committed 2"))
        try save(1, in: claimed.store, second.storeReports)
        #expect(try events() == ["e1", "e1"])
        for (node, store) in [(first, former.store), (second, claimed.store)] {
            store.close(releasingTo: nil)
            node.register.close()
        }
    }

    @Test("Commits that are in doubt when the primary dies are neither lost nor doubled")
    func inDoubt() throws {
        let reports = StoreReports()
        let store = PostgresCallStore(try options()) { reports.add($0) }
        _ = try store.open(at: now)
        try save(1, in: store, reports)
        for ticket in 2...400 as ClosedRange<UInt64> { commit(ticket, in: store) }
        try failOver()
        try reports.wait("all committed") { $0.committed.last?.rawValue == 400 }
        try save(401, in: store, reports)
        #expect(try events() == names(1...401))
        #expect(reports.now.reported.filter { $0.hasPrefix("behind") || $0 == "deposed" } == [])
        store.close()
    }

    @Test(
        "Commits that the standby lacks are sent again, once each, also if it lacks the claim",
        arguments: [true, false]
    )
    func behind(_ lacksClaim: Bool) throws {
        let reports = StoreReports()
        let store = PostgresCallStore(try options()) { reports.add($0) }
        let former = PostgresCallStore(try options()) { _ in }
        _ = try former.open(at: now)
        former.close()
        try pair.releaseStandby()
        if lacksClaim { pair.hop.cause(.silence) }
        _ = try store.open(at: now)
        if !lacksClaim {
            for ticket in 1...10 as ClosedRange<UInt64> { try save(ticket, in: store, reports) }
            try waitUntil("the standby has the first commits") {
                let settings = try pair.standby.settings(name: "probe").acceptingStandbys
                let count = SQL("events", "SELECT count(*) FROM \(schema.options.schema).event")
                return try Connection(settings).run(count).first?.int64(0) == 10
            }
            pair.hop.cause(.silence)
        }
        let last: UInt64 = 20
        for ticket in (lacksClaim ? 1 : 11)...last { try save(ticket, in: store, reports) }
        try failOver()
        try save(last + 1, in: store, reports)
        #expect(try events() == names(1...(last + 1)))
        let behind = reports.now.reported.filter { $0.hasPrefix("behind") }
        #expect(behind == [lacksClaim ? "behind 20 0" : "behind 10 0"])
        #expect(try DatabaseReader(try options()).owner()?.claimsLostAt != nil || !lacksClaim)
        store.close()
    }

    @Test(
        "If nothing reaches the standby, a commit waits, and the next claim ends the owner's connection within a second"
    )
    func blackHole() throws {
        let (first, second) = (try Node("a", try options(lease: 1_000)), try Node("b", try options()))
        let former = try first.claim(after: 0)
        try save(1, in: former.store, first.storeReports)
        let observer = try Connection(pair.primary.settings(name: "observer"))
        let isWaiting = SQL("waiting", "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
        let owner =
            try observer.run(
                SQL("owner", "SELECT backend FROM \(schema.options.schema).owner")
            ).first?.int64(0) ?? 0
        let isOwnerThere = SQL("connection", "SELECT count(*) FROM pg_stat_activity WHERE pid = \(owner)")
        pair.hop.cause(.silence)
        commit(2, in: former.store)
        try waitUntil("the commit waits for the standby") { try observer.run(isWaiting).first?.int64(0) ?? 0 > 0 }
        try waitUntil("the lease has run out") { try second.row().isExpired }
        #expect(!first.storeReports.now.reported.contains("committed 2"))
        let start = ContinuousClock.now
        second.register.claim(after: OwnerEpoch(rawValue: 1), above: OwnerEpoch(rawValue: 1))
        try waitUntil("the owner's connection is closed") { try observer.run(isOwnerThere).first?.int64(0) == 0 }
        #expect(.now - start < .seconds(1))
        pair.hop.cause(.none)
        let claimed = try second.claimed()
        try first.storeReports.wait { $0.contains("deposed") }
        try save(1, in: claimed.store, second.storeReports)
        // The second commit is durable, whether the first node could still report that before it was deposed or not.
        #expect(try events() == ["e1", "e2", "e1"])
        for (node, store) in [(first, former.store), (second, claimed.store)] {
            store.close(releasingTo: nil)
            node.register.close()
        }
    }
}
