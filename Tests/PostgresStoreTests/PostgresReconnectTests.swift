import CallCore
import CallPorts
import CallTesting
import Glibc
import Postgres
import Testing
import Threads

@testable import PostgresStore

@Suite("A PostgreSQL store that connects again", .timeLimit(.minutes(3)))
final class PostgresReconnectTests {
    private let schema: TemporarySchema
    private let proxy: FaultyProxy
    private let options: StoreOptions
    private let reports = StoreReports()
    private let now = Moment(milliseconds: 1_800_000_000_000)

    init() throws {
        let server = try PostgresServer.running()
        schema = try TemporarySchema()
        proxy = try FaultyProxy(to: server.port)
        var options = schema.options
        options.settings = try server.settings(port: proxy.port, name: schema.options.schema)
        options.stallMilliseconds = 500
        // So long that no transaction but those of the test renews the lease.
        options.leaseMilliseconds = 30_000
        self.options = options
    }

    deinit { proxy.end() }

    private func open() throws -> PostgresCallStore {
        let store = PostgresCallStore(options) { [reports] in reports.add($0) }
        _ = try store.open(at: now)
        return store
    }

    private func user(_ text: String) throws -> UserID { try #require(UserID(text)) }

    private func block(_ ticket: UInt64) throws -> [Change] {
        [.blocked(try user("user-\(ticket)"), by: try user("x"), at: now)]
    }

    private func save(_ ticket: UInt64, in store: PostgresCallStore) throws {
        store.commit(try block(ticket), as: Ticket(rawValue: ticket))
        try reports.wait { $0.contains("committed \(ticket)") }
    }

    @Test("Lost commits are reported in full if the connection is cut again while they are sent again")
    func lossReported() throws {
        let store = try open()
        for ticket in 1...20 as ClosedRange<UInt64> { try save(ticket, in: store) }
        try schema.execute("UPDATE owner SET ticket = 10")
        proxy.cause(.cutBeforeConfirmation, after: "user-20")
        try schema.closeOwnersConnection()
        try save(21, in: store)
        let behind = reports.now.reported.filter { $0.hasPrefix("behind") }
        #expect(behind == ["behind 10 0"])
        store.close()
    }

    @Test("A commit that became durable after the store had connected again causes no stall")
    func durableLate() throws {
        let store = try open()
        // After the store has read the ticket on its new connection, the ticket of the first commit appears.
        try schema.execute(
            """
            CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN UPDATE owner SET ticket = 1; RETURN NULL; END $$;
            CREATE TRIGGER late AFTER UPDATE ON owner FOR EACH ROW WHEN (OLD.backend <> NEW.backend AND OLD.ticket = 0)
            EXECUTE FUNCTION late()
            """
        )
        try schema.closeOwnersConnection()
        try save(1, in: store)
        try save(2, in: store)
        store.close()
        #expect(reports.now.reported == ["committed 1", "committed 2"])
    }

    @Test("A store whose commits are slow, and each confirmed in time, never stands still")
    func slowCommits() throws {
        var options = options
        options.stallMilliseconds = 1_500
        let store = PostgresCallStore(options) { [reports] in reports.add($0) }
        _ = try store.open(at: now)
        try schema.execute(
            """
            CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
            CREATE TRIGGER slow AFTER INSERT ON block FOR EACH ROW EXECUTE FUNCTION slow()
            """
        )
        // Together they take longer than the 1.5 s after which a store stands still.
        for ticket in 1...6 as ClosedRange<UInt64> { try save(ticket, in: store) }
        #expect(reports.now.reported == (1...6).map { "committed \($0)" })
        store.close()
    }

    @Test("After the store has connected again, queries use a new connection as well")
    func queriesFollow() throws {
        let store = try open()
        store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: 1))
        try reports.wait { $0.contains("answered 1") }
        let first = try connectionsOfQueries()
        #expect(first.count == 1)
        try schema.closeOwnersConnection()
        try save(1, in: store)
        store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: 2))
        try reports.wait { $0.contains("answered 2") }
        #expect(try !connectionsOfQueries().isSubset(of: first))
        store.close()
    }

    /// Returns the ids of PostgreSQL's processes that serve the store's queries.
    private func connectionsOfQueries() throws -> Set<Int64> {
        let rows = try schema.connection().run(
            SQL(
                "connections",
                """
                SELECT pid::bigint FROM pg_stat_activity WHERE application_name = '\(schema.options.schema)'
                    AND pid <> pg_backend_pid() AND pid NOT IN (SELECT backend FROM owner)
                """
            )
        )
        return Set((0..<rows.count).map { rows[$0].int64(0) })
    }

    @Test("Closing the store runs no further query after one has found the database unreachable")
    func closedWithQueries() throws {
        let store = try open()
        proxy.cause(.silence)
        for id in 1...8 as ClosedRange<UInt64> {
            store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: id))
        }
        let start = ContinuousClock.now
        store.close()
        // An attempt to connect takes 3 s: there is one under way, and at most one for the queries behind it.
        #expect(.now - start < .seconds(12))
        #expect(reports.now.results.count == 8 && reports.now.repeated.isEmpty)
    }

    @Test("A call and its log are read in one snapshot")
    func snapshot() throws {
        let store = try open()
        store.commit(try callWithLog(), as: Ticket(rawValue: 1))
        try reports.wait { $0.contains("committed 1") }
        let blocker = try schema.connection()
        try blocker.execute(SQL("lock", "BEGIN; LOCK TABLE entry"))
        store.submit(.log(CallNumber(rawValue: 1)), as: StoreQueryID(rawValue: 1))
        try schema.waitUntilLocked()
        try blocker.execute(SQL("forget", "DELETE FROM entry; UPDATE call SET log_kept = false; COMMIT"))
        try reports.wait { $0.contains("answered 1") }
        store.close()
        guard case .log(let stored?) = reports.now.results[StoreQueryID(rawValue: 1)] else {
            Issue.record("the call was not found")
            return
        }
        #expect(stored.entries.count == 1)
    }

    /// Returns the changes that store call 1 with one log entry.
    private func callWithLog() throws -> [Change] {
        let (caller, callee) = (try user("11"), try user("10"))
        let call = CallRecord(
            number: CallNumber(rawValue: 1),
            id: try #require(CallID("11-10")),
            epoch: 1,
            room: "p2p:11-10",
            caller: caller,
            callee: callee,
            displayName: nil,
            hasVideo: false,
            startedAt: now,
            ringUntil: now
        )
        let device = DeviceIdentity(id: try #require(DeviceID("iphone-t")), fingerprint: TokenFingerprint(rawValue: 1))
        let entry = LogEntry(
            seq: 1,
            at: now,
            content: .signal(.offer, from: .caller, device: device, id: nil, digest: 0),
            audience: .callee
        )
        return [.call(call), .entry(call.number, EntryRecord(entry, object: Array("{}".utf8)[...]))]
    }

    @Test("Events whose positions another program has taken stop no commit")
    func positionsTaken() throws {
        try open().close()
        try schema.execute(
            "INSERT INTO event (position, call, at, event, details) SELECT n, 1, 1, 'x', '' FROM generate_series(1, 5) n"
        )
        let store = try open()
        let event = TimelineRecord(at: now, event: .other(name: "x", details: ""))
        store.commit([.event(CallNumber(rawValue: 1), event)], as: Ticket(rawValue: 1))
        try reports.wait { $0.contains("committed 1") }
        store.close()
        #expect(reports.now.reported == ["committed 1"])
    }
}
