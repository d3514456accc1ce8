import CallCore
import CallPorts
import CallTesting
import Glibc
import Postgres
import Testing
import Threads

@testable import PostgresStore

@Suite("A PostgreSQL store that connects again", .timeLimit(.minutes(3)))
struct PostgresReconnectTests {
    private let rig: ProxiedStore

    init() throws { rig = try ProxiedStore { $0.stallMilliseconds = 500 } }

    private func user(_ text: String) throws -> UserID { try #require(UserID(text)) }

    private func block(_ ticket: UInt64) throws -> [Change] {
        [.blocked(try user("user-\(ticket)"), by: try user("x"), at: rig.now)]
    }

    private func save(_ ticket: UInt64, in store: PostgresCallStore) throws {
        store.commit(try block(ticket), as: Ticket(rawValue: ticket))
        try rig.reports.wait { $0.contains("committed \(ticket)") }
    }

    @Test("Lost commits are reported in full if the connection is cut again while they are sent again")
    func lossReported() throws {
        let store = try rig.open()
        for ticket in 1...20 as ClosedRange<UInt64> { try save(ticket, in: store) }
        try rig.schema.execute("UPDATE owner SET ticket = 10")
        rig.proxy.cause(.cutBeforeConfirmation, after: "user-20")
        try rig.schema.closeOwnersConnection()
        try save(21, in: store)
        let behind = rig.reports.now.reported.filter { $0.hasPrefix("behind") }
        #expect(behind == ["behind 10 0"])
        store.close()
    }

    @Test("A commit that became durable after the store had connected again causes no stall")
    func durableLate() throws {
        let store = try rig.open()
        // After the store has read the ticket on its new connection, the ticket of the first commit appears.
        try rig.schema.execute(
            """
            CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN UPDATE owner SET ticket = 1; RETURN NULL; END $$;
            CREATE TRIGGER late AFTER UPDATE ON owner FOR EACH ROW WHEN (OLD.backend <> NEW.backend AND OLD.ticket = 0)
            EXECUTE FUNCTION late()
            """
        )
        try rig.schema.closeOwnersConnection()
        try save(1, in: store)
        try save(2, in: store)
        store.close()
        #expect(rig.reports.now.reported == ["committed 1", "committed 2"])
    }

    @Test("A store whose commits are slow, and each confirmed in time, never stands still")
    func slowCommits() throws {
        var options = rig.options
        options.stallMilliseconds = 1_500
        let store = try rig.open(options)
        try rig.schema.execute(
            """
            CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$;
            CREATE TRIGGER slow AFTER INSERT ON block FOR EACH ROW EXECUTE FUNCTION slow()
            """
        )
        // Together they take longer than the 1.5 s after which a store stands still.
        for ticket in 1...6 as ClosedRange<UInt64> { try save(ticket, in: store) }
        #expect(rig.reports.now.reported == (1...6).map { "committed \($0)" })
        store.close()
    }

    @Test("After the store has connected again, queries use a new connection as well")
    func queriesFollow() throws {
        let store = try rig.open()
        store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: 1))
        try rig.reports.wait { $0.contains("answered 1") }
        let first = try connectionsOfQueries()
        #expect(first.count == 1)
        try rig.schema.closeOwnersConnection()
        try save(1, in: store)
        store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: 2))
        try rig.reports.wait { $0.contains("answered 2") }
        #expect(try !connectionsOfQueries().isSubset(of: first))
        store.close()
    }

    /// Returns the ids of PostgreSQL's processes that serve the store's queries.
    private func connectionsOfQueries() throws -> Set<Int64> {
        let rows = try rig.schema.connection().run(
            SQL(
                "connections",
                """
                SELECT pid::bigint FROM pg_stat_activity WHERE application_name = '\(rig.schema.options.schema)'
                    AND pid <> pg_backend_pid() AND pid NOT IN (SELECT backend FROM owner)
                """
            )
        )
        return Set((0..<rows.count).map { rows[$0].int64(0) })
    }

    @Test("Closing the store runs no further query after one has found the database unreachable")
    func closedWithQueries() throws {
        let store = try rig.open()
        rig.proxy.cause(.silence)
        for id in 1...8 as ClosedRange<UInt64> {
            store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: id))
        }
        let start = ContinuousClock.now
        store.close()
        // An attempt to connect takes 3 s: there is one under way, and at most one for the queries behind it.
        #expect(.now - start < .seconds(12))
        #expect(rig.reports.now.results.count == 8 && rig.reports.now.repeated.isEmpty)
    }

    @Test("A call and its log are read in one snapshot")
    func snapshot() throws {
        let store = try rig.open()
        store.commit(try callWithLog(), as: Ticket(rawValue: 1))
        try rig.reports.wait { $0.contains("committed 1") }
        let blocker = try rig.schema.connection()
        try blocker.execute(SQL("lock", "BEGIN; LOCK TABLE entry"))
        store.submit(.log(CallNumber(rawValue: 1)), as: StoreQueryID(rawValue: 1))
        try rig.schema.waitUntilLocked()
        try blocker.execute(SQL("forget", "DELETE FROM entry; UPDATE call SET log_kept = false; COMMIT"))
        try rig.reports.wait { $0.contains("answered 1") }
        store.close()
        guard case .log(let stored?) = rig.reports.now.results[StoreQueryID(rawValue: 1)] else {
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
            startedAt: rig.now,
            ringUntil: rig.now
        )
        let device = DeviceIdentity(id: try #require(DeviceID("iphone-t")), fingerprint: TokenFingerprint(rawValue: 1))
        let entry = LogEntry(
            seq: 1,
            at: rig.now,
            content: .signal(.offer, from: .caller, device: device, id: nil, digest: 0),
            audience: .callee
        )
        return [.call(call), .entry(call.number, EntryRecord(entry, object: Array("{}".utf8)[...]))]
    }

    @Test("Events whose positions another program has taken stop no commit")
    func positionsTaken() throws {
        try rig.open().close()
        try rig.schema.execute(
            "INSERT INTO event (position, call, at, event, details) SELECT n, 1, 1, 'x', '' FROM generate_series(1, 5) n"
        )
        let store = try rig.open()
        let event = TimelineRecord(at: rig.now, event: .other(name: "x", details: ""))
        store.commit([.event(CallNumber(rawValue: 1), event)], as: Ticket(rawValue: 1))
        try rig.reports.wait { $0.contains("committed 1") }
        store.close()
        #expect(rig.reports.now.reported == ["committed 1"])
    }
}
