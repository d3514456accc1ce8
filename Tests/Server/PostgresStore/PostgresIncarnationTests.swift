import CallCore
import CallPorts
import CallTesting
import Testing

@testable import PostgresStore

@Suite("The incarnation of a PostgreSQL database")
struct PostgresIncarnationTests {
    private let schema: TemporarySchema
    private let now = Moment(milliseconds: 1_700_000_000_000)

    init() throws { schema = try TemporarySchema() }

    private func open(at moment: Moment? = nil, _ changes: [Change] = []) throws -> StoredEvents {
        let store = PostgresCallStore(schema.options) { _ in }
        defer { store.close() }
        let events = try store.open(at: moment ?? now).events
        if !changes.isEmpty { store.commit(changes, as: Ticket(rawValue: 1)) }
        return events
    }

    @Test("A start on tables that were restored begins a new incarnation, once, and everything else stays")
    func tables() throws {
        #expect(try open(at: now, StoreSample.changes) == StoredEvents())
        let before = try open()
        #expect(before.incarnation == .first && before.newest.rawValue == 3 && before.endpoints.count == 1)
        // `pg_restore` makes tables with other object ids.
        try schema.execute(
            """
            ALTER TABLE app_event RENAME TO backup;
            CREATE TABLE app_event (LIKE backup INCLUDING ALL);
            INSERT INTO app_event SELECT * FROM backup;
            DROP TABLE backup
            """
        )
        for _ in 1...2 {
            let after = try open()
            #expect(after.incarnation.rawValue == 1_700_000_000)
            #expect(after.newest == before.newest && after.endpoints == before.endpoints)
        }
    }

    @Test("So does a start in another cluster or on another timeline", arguments: ["event_system", "event_timeline"])
    func clusters(_ name: String) throws {
        _ = try open()
        try schema.execute("UPDATE meta SET value = value + 1 WHERE name = '\(name)'")
        #expect(try open().incarnation.rawValue == 1_700_000_000)
        try schema.execute("UPDATE meta SET value = value + 1 WHERE name = '\(name)'")
        // The clock may have been set back.
        #expect(try open(at: Moment(milliseconds: 0)).incarnation.rawValue == 1_700_000_001)
    }
}
