import CallCore
import CallPorts
import CallTesting
import SQLite
import Testing

@testable import SQLiteStore
@testable import Storing

@Suite("Events for the app's backend in SQLite")
struct AppEventTests {
    private let connection: Connection
    private let statements = Connection.statements.appEvents

    init() throws {
        connection = try Connection(.memory(named: "events-\(UInt64.random(in: 0...UInt64.max))"))
        try Schema.migrations.run(on: connection)
    }

    /// Returns how SQLite finds the rows of a statement.
    private func plan(_ sql: SQLText) throws -> [String] {
        let rows = try connection.statement(SQL("plan of \(sql.name)", "EXPLAIN QUERY PLAN \(sql.text)"))
        defer { rows.reset() }
        var plan: [String] = []
        while try rows.step() { plan.append(rows.text(3)) }
        return plan
    }

    @Test("No query reads a whole table, and each uses the index that it names")
    func plans() throws {
        let all: [(SQLText, String)] = [
            (statements.reads.ends, "SEARCH app_event"),
            (statements.reads.range, "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
            (statements.reads.rangeOfTypes, "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
            (statements.reads.searchEnd, "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
            (statements.reads.callsOfID, "call_by_id (id=?)"), (statements.reads.ofCall, "app_event_by_call (call=?)"),
            (statements.reads.searchedOfID, "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
            (statements.heldReads.retries, "held_event_by_retry (url=?)"),
            (statements.heldReads.ofCall, "held_event_by_call (url=? AND call=?)"),
            (statements.heldReads.firstOfCall, "held_event_by_call (url=? AND call=?)"),
            (statements.heldReads.after, "PRIMARY KEY (url=? AND position>?)"),
            (statements.heldReads.parked, "held_event_by_state (url=? AND state=? AND position>?)"),
            (statements.bounds.sums, "INTEGER PRIMARY KEY (rowid<?)"),
            (statements.bounds.portion, "held_event_by_position (position=?)"),
        ]
        for (sql, expected) in all {
            let plan = try plan(sql)
            #expect(plan.contains { $0.contains(expected) }, "\(sql.name): \(plan)")
            // A subquery's own rows are few.
            let scans = plan.filter {
                $0.hasPrefix("SCAN") && !$0.hasPrefix("SCAN held") && !$0.hasPrefix("SCAN searched")
            }
            #expect(scans.filter { $0 != "SCAN CONSTANT ROW" && !$0.hasPrefix("SCAN (") } == [], "\(sql.name)")
        }
        let url = "https://app.example/"
        for change in [
            Change.eventEndpointRemoved(url: url), .eventReleased(url: url, EventPosition(rawValue: 1)),
            .eventsForgotten(upTo: EventPosition(rawValue: 1), keepsHeld: true),
            .eventsForgotten(upTo: EventPosition(rawValue: 1), keepsHeld: false),
        ] {
            for (sql, _) in try #require(statements.steps(for: change)) {
                let plan = try plan(sql)
                #expect(plan.allSatisfy { !$0.hasPrefix("SCAN") || $0 == "SCAN CONSTANT ROW" }, "\(sql.name): \(plan)")
            }
        }
    }

    @Test("A restoration begins a new incarnation, and what was not delivered when the backup was made stays")
    func restoration() throws {
        let folder = try TemporaryDataFolder()
        let now = Moment(milliseconds: 1_700_000_000_000)
        func open(_ body: (SQLiteCallStore) throws -> Void = { _ in }) throws -> StoredEvents {
            let store = SQLiteCallStore(folder: folder.path) { _ in }
            defer { store.close() }
            let events = try store.open(at: now).events
            try body(store)
            return events
        }
        #expect(try open { $0.commit(StoreSample.changes, as: Ticket(rawValue: 1)) } == StoredEvents())
        let before = try open()
        #expect(before.incarnation == .first && before.newest.rawValue == 3 && before.endpoints.count == 1)
        let backup = folder.path + "/backup.sqlite"
        _ = try DataFolderReader(of: folder.path).backUp(to: backup)
        _ = try open { $0.commit([.eventEndpointRemoved(url: "https://a.example/")], as: Ticket(rawValue: 1)) }
        _ = try SQLiteCallStore.restore(backup, into: folder.path, keeping: "old.sqlite")
        let restored = try open()
        #expect(restored.incarnation.rawValue > 1_700_000_000)
        #expect(restored.newest == before.newest && restored.endpoints == before.endpoints)
        _ = try SQLiteCallStore.restore(backup, into: folder.path, keeping: "older.sqlite")
        #expect(try open().incarnation.rawValue > 1_700_000_000)
    }
}
