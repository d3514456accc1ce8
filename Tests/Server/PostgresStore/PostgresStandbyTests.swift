import CallCore
import CallPorts
import CallTesting
import Glibc
import Postgres
import Testing
import Threads

@testable import PostgresStore

/// The tests change a setting of their server, so they run one after another.
@Suite("A PostgreSQL store whose synchronous standby is missing", .serialized, .timeLimit(.minutes(3)))
final class PostgresStandbyTests {
    private let schema: TemporarySchema
    private let server: PostgresServer
    private let admin: Connection
    private let now = Moment(milliseconds: 1_800_000_000_000)

    init() throws {
        server = try PostgresServer.withStandby()
        schema = try TemporarySchema(on: server)
        admin = try Connection(server.settings(name: "admin"))
        try admin.execute(SQL("create", "CREATE TABLE IF NOT EXISTS probe (value bigint)"))
    }

    deinit { do { try returnStandby() } catch { Issue.record(error) } }

    /// Makes every commit that follows wait for a standby that does not exist.
    private func removeStandby() throws {
        try admin.execute(SQL("remove", "ALTER SYSTEM SET synchronous_standby_names = 'nobody'"))
        try admin.execute(SQL("reload", "SELECT pg_reload_conf()"))
        // PostgreSQL obeys the setting a moment later.
        try waitUntil("a commit waits for a standby") {
            let probe = try Connection(server.settings(name: "probe"))
            try probe.send([Connection.Step(SQL("probe", "INSERT INTO probe VALUES (1)"))])
            return try withExtendedLifetime(probe) { try waiting() > 0 }
        }
    }

    /// Lets the commits that wait for the standby end.
    private func returnStandby() throws {
        try admin.execute(SQL("return", "ALTER SYSTEM RESET synchronous_standby_names"))
        try admin.execute(SQL("reload", "SELECT pg_reload_conf()"))
        try waitUntil("no commit waits for the standby") { try waiting() == 0 }
    }

    /// Returns the number of connections whose commit waits for a standby, all of them or those of the store.
    private func waiting(ofStore: Bool = false) throws -> Int64 {
        let store = ofStore ? " AND application_name = '\(schema.options.schema)'" : ""
        let count = SQL("waiting\(store)", "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'\(store)")
        return try admin.run(count).first?.int64(0) ?? 0
    }

    /// Returns the process of the server whose commit for the store waits for a standby.
    private func pidOfCommit() throws -> pid_t {
        let pid = SQL(
            "pid of commit",
            """
            SELECT pid FROM pg_stat_activity
            WHERE wait_event = 'SyncRep' AND application_name = '\(schema.options.schema)'
            """
        )
        return pid_t(try #require(try admin.run(pid).first?.int64(0)))
    }

    /// Returns whether a connection of the store waits for the lock on the row that the claim holds.
    private func isReleaseWaiting() throws -> Bool {
        let count = SQL(
            "waiting for the lock",
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND application_name = '\(schema.options.schema)'
            """
        )
        return try admin.run(count).first?.int64(0) ?? 0 > 0
    }

    private func store(_ reports: StoreReports) -> PostgresCallStore {
        var options = schema.options
        options.stallMilliseconds = 300
        // So long that no transaction but those of the test renews the lease.
        options.leaseMilliseconds = 30_000
        return PostgresCallStore(options) { reports.add($0) }
    }

    private func block(_ number: Int) throws -> [Change] {
        [.blocked(try #require(UserID("\(number)")), by: try #require(UserID("x")), at: now)]
    }

    /// Returns whether a piece of work ends within ten seconds; if not, it goes on.
    private func ends(_ body: @escaping @Sendable () -> Void) throws -> Bool {
        let isOver = Monitor(false)
        _ = try WorkThread(named: "ends") {
            body()
            isOver.withLock { $0 = true }
        }
        return isOver.wait(until: .now + .seconds(10)) { $0 ? true : nil } ?? false
    }

    @Test("After a lost connection it stalls and fails queries, and commits when the standby is back")
    func reconnected() throws {
        let reports = StoreReports()
        let store = store(reports)
        _ = try store.open(at: now)
        try removeStandby()
        try schema.closeOwnersConnection()
        store.commit(try block(1), as: Ticket(rawValue: 1))
        try reports.wait { $0 == ["stalled"] }
        #expect(reports.now.failures.last?.contains("it may wait for its standby") == true)
        store.commit(try block(2), as: Ticket(rawValue: 2))
        store.submit(.peers(try #require(UserID("x")), limit: 1), as: StoreQueryID(rawValue: 1))
        try reports.wait { $0.contains("failed 1") }
        try returnStandby()
        try reports.wait { $0.contains("committed 2") }
        store.close()
        #expect(
            reports.now.reported.filter { $0 != "committed 1" } == ["stalled", "failed 1", "recovered", "committed 2"]
        )
    }

    @Test("A node can still read who owns the calls, and stays in the list of nodes")
    func read() throws {
        let isRead = Monitor(false)
        let register = PostgresOwnershipRegister(
            schema.options,
            node: try #require(NodeID("n")),
            address: "",
            version: "",
            storeReport: { _ in },
            report: { report in
                if case .row = report { isRead.withLock { $0 = true } }
            }
        )
        _ = try register.open()
        try removeStandby()
        try schema.execute("SET synchronous_commit = off; UPDATE node SET seen_at = to_timestamp(0)")
        try waitUntil("the node is seen") {
            try DatabaseInspector(schema.options).nodes().first?.seenMillisecondsAgo ?? 5_000 < 5_000
        }
        register.read()
        #expect(isRead.wait(until: .now + .seconds(10)) { $0 ? true : nil } == true)
        #expect(try ends { register.close() })
        #expect(try DatabaseInspector(schema.options).nodes() == [])
    }

    @Test("Closing it returns if the release of the database is not confirmed, and reports no stall")
    func closed() throws {
        let reports = StoreReports()
        let store = store(reports)
        _ = try store.open(at: now)
        store.commit(try block(1), as: Ticket(rawValue: 1))
        try reports.wait { $0 == ["committed 1"] }
        try removeStandby()
        #expect(try ends { store.close() })
        #expect(reports.now.reported == ["committed 1"])
    }

    @Test("Closing or dropping it after a lost connection returns", arguments: [true, false])
    func closedAfterReconnecting(_ isClosed: Bool) throws {
        let reports = StoreReports()
        let shared = Monitor<PostgresCallStore?>(store(reports))
        _ = try shared.withLock { $0 }?.open(at: now)
        try removeStandby()
        try schema.closeOwnersConnection()
        shared.withLock { [changes = try? block(1)] in _ = $0?.commit(changes ?? [], as: Ticket(rawValue: 1)) }
        try reports.wait { $0 == ["stalled"] }
        #expect(
            try ends {
                let store = shared.withLock { $0.take() }
                if isClosed { store?.close() }
            }
        )
        #expect(reports.now.reported == ["stalled"])
    }

    @Test("A start says that it waits for the database, and can be stopped", arguments: [true, false])
    func started(_ isFirst: Bool) throws {
        if !isFirst {
            let store = store(StoreReports())
            _ = try store.open(at: now)
            store.close()
        }
        try removeStandby()
        let reason = Monitor<String?>(nil)
        let isStopped = Monitor(false)
        let failure = Monitor<String?>(nil)
        var options = schema.options
        options.stallMilliseconds = 300
        options.ownerWait = OwnerWait(
            isOver: { isStopped.withLock { $0 } },
            onDelay: { text in reason.withLock { $0 = text } }
        )
        let store = PostgresCallStore(options) { _ in }
        _ = try WorkThread(named: "opening") { [now] in
            do throws(StoreFailure) { _ = try store.open(at: now) } catch { failure.withLock { $0 = error.message } }
        }
        let said = reason.wait(until: .now + .seconds(10)) { $0 } ?? ""
        #expect(said.contains("it may wait for its standby"))
        #expect(failure.withLock { $0 } == nil)
        // PostgreSQL's process of the claim ends only after the start has asked for it and goes on. A first start does
        // not get as far as a claim: its tables wait for the standby.
        let backend = try pidOfCommit()
        if !isFirst { kill(backend, SIGSTOP) }
        defer { kill(backend, SIGCONT) }
        isStopped.withLock { $0 = true }
        if !isFirst {
            try waitUntil("the release waits for the end of the claim's connection") { try isReleaseWaiting() }
            kill(backend, SIGCONT)
        }
        #expect(failure.wait(until: .now + .seconds(10)) { $0 }?.contains("has not responded") == true)
        // The stopped start leaves no connection that locks the row `owner`: the next start can already make its claim,
        // which then waits for the standby.
        try waitUntil("the connection of the stopped start has ended") { try waiting(ofStore: true) == 0 }
        let next = self.store(StoreReports())
        let uncleanStarts = Monitor<Int?>(nil)
        _ = try WorkThread(named: "opening") { [now] in
            do { uncleanStarts.withLock { $0 = try? next.open(at: now).uncleanStarts } }
        }
        try waitUntil("the next claim waits for the standby") { try waiting(ofStore: true) == 1 }
        try returnStandby()
        #expect(uncleanStarts.wait(until: .now + .seconds(10)) { $0 } == 0)
        next.close()
    }
}
