import CallCore
import CallPorts
import CallTesting
import Foundation
import Postgres
import Storing
import Testing
import Threads

@testable import PostgresStore

@Suite("Operators' commands on a database")
struct DatabaseReaderTests {
    private let schema: TemporarySchema

    init() throws { schema = try TemporarySchema() }

    /// Opens a store, commits the sample records, and returns the store.
    private func fill() throws -> PostgresCallStore {
        let reports = StoreReports()
        let store = PostgresCallStore(schema.options) { reports.add($0) }
        _ = try store.open(at: Moment(milliseconds: 1_700_000_000_000))
        store.commit(StoreSample.changes, as: Ticket(rawValue: 1))
        try reports.wait { $0 == ["committed 1"] }
        return store
    }

    @Test("A reader says who owns the database, and whether the last owner stopped in good order")
    func owner() throws {
        let store = try fill()
        let reader = try DatabaseReader(schema.options)
        let owning = try #require(try reader.owner())
        #expect(owning.isOwning && owning.node == schema.options.machine && owning.process == Int64(getpid()))
        #expect(abs(owning.connectedAt.milliseconds - SystemClock.wall()) < 60_000)
        store.close()
        #expect(try reader.owner()?.state == .released)
        try schema.execute("UPDATE owner SET released = false, until = to_timestamp(12.5)")
        #expect(try reader.owner()?.state == .expired(Moment(milliseconds: 12_500)))
        try schema.execute("UPDATE owner SET epoch = 0")
        #expect(try reader.owner() == nil)
    }

    @Test("A reader needs no right to write, and reads where nothing can be written, as on a standby")
    func readOnly() throws {
        try fill().close()
        let name = schema.options.schema
        let role = "reader_of_\(name)"
        try schema.execute("CREATE ROLE \(role) LOGIN; ALTER ROLE \(role) SET default_transaction_read_only = on")
        try schema.execute(
            "GRANT USAGE ON SCHEMA \(name) TO \(role); GRANT SELECT ON ALL TABLES IN SCHEMA \(name) TO \(role)"
        )
        var options = schema.options
        options.settings = try PostgresServer.running().settings(user: role)
        let reader = try DatabaseReader(options)
        #expect(try reader.liveCalls(limit: 9).map(\.number.rawValue) == [2])
        #expect(try reader.owner()?.isOwning == false)
        // The server itself refuses such a connection.
        #expect(throws: StoreFailure.self) { try PostgresCallStore(options) { _ in }.open(at: Moment(milliseconds: 0)) }
        let demanding = try ConnectionSettings(url: "postgres://h/d?target_session_attrs=prefer-standby")
        #expect(demanding.acceptingStandbys == demanding)
    }

    @Test("A reader's transactions are read-only, whatever is run in them")
    func neverWrites() throws {
        try fill().close()
        let connection = try Connection.open(schema.options, for: .operators)
        #expect(throws: PostgresError.self) { try connection.run(SQL("spoil", "DELETE FROM call")) }
        let timeout = try connection.run(SQL("timeout", "SELECT current_setting('statement_timeout')")).first?.text(0)
        #expect(timeout == "1min")
        #expect(try DatabaseReader(schema.options).liveCalls(limit: 9).count == 1)
    }

    @Test("A reader's failures name the database, and no password")
    func failures() throws {
        var options = schema.options
        options.settings = try ConnectionSettings(url: "postgres://ring:hunter2@127.0.0.1:1/x")
        do {
            _ = try DatabaseReader(options)
            Issue.record("connected to nothing")
        } catch {
            #expect(error.message.contains("postgres://127.0.0.1:1/x") && error.message.contains("cannot be reached"))
            #expect(!error.message.contains("hunter2"))
        }
    }

    // MARK: The doctor's facts

    @Test("The facts are those of the server, and tell the owner, the tables and the clock")
    func facts() throws {
        let empty = try DatabaseInspector(schema.options).facts()
        #expect(empty.schemaVersion == nil && empty.owner == nil && empty.mayCreateSchema)
        let store = try fill()
        let facts = try DatabaseInspector(schema.options).facts()
        #expect(facts.version >= 130_000 && facts.syncsToDisk && facts.writesFullPages)
        #expect(facts.synchronousCommit == "on" && facts.synchronousStandbys == "")
        #expect(abs(facts.clockAheadMilliseconds) < 1_000)
        #expect(facts.schemaVersion == DatabaseFacts.knownSchemaVersion && facts.owner?.isOwning == true)
        store.close()
    }

    @Test("The facts tell synchronous_commit as it is set, not as the store raises it")
    func synchronousCommit() throws {
        let role = "lax_\(schema.options.schema)"
        try schema.execute("CREATE ROLE \(role) LOGIN; ALTER ROLE \(role) SET synchronous_commit = local")
        var options = schema.options
        options.settings = try PostgresServer.running().settings(user: role)
        let facts = try DatabaseInspector(options).facts()
        #expect(facts.synchronousCommit == "local" && !facts.mayCreateSchema)
    }

    @Test("The inspector finds the impossible values that a start would find, and repairs none")
    func damages() throws {
        try fill().close()
        #expect(try DatabaseInspector(schema.options).damages() == [])
        try schema.execute(
            """
            UPDATE call SET ended_at = -1 WHERE number = 3;
            UPDATE device SET unanswered_pushes = -1 WHERE id = 'b' AND "user" = 'b.o_b:+-';
            UPDATE meta SET value = -4 WHERE name = 'crashes'; UPDATE revocation SET before = -9
            """
        )
        for _ in 0..<2 {
            let found = try DatabaseInspector(schema.options).damages()
            #expect(
                Set(found.map { "\($0.table).\($0.column)" }) == [
                    "call.ended_at", "device.unanswered_pushes", "meta.value", "revocation.before",
                ]
            )
        }
    }
}
