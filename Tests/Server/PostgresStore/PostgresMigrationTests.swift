import CallCore
import CallPorts
import Glibc
import Postgres
import Testing
import Threads

@testable import PostgresStore

@Suite("A PostgreSQL database of an older version", .timeLimit(.minutes(2)))
struct PostgresMigrationTests {
    private let schema: TemporarySchema
    private let now = Moment(milliseconds: 1_800_000_000_000)

    /// Creates a database of version 1, as its server did.
    init() throws {
        schema = try TemporarySchema()
        try schema.execute("CREATE SCHEMA \(schema.options.schema)")
        try schema.connection().execute(Schema.migrations[0])
    }

    /// A server of version 1 that owns the database.
    private final class OldOwner {
        private let connection: Connection
        private(set) var ticket: Int64 = 0

        init(_ schema: TemporarySchema) throws {
            connection = try schema.connection()
            _ = try connection.run(
                SQL(
                    "claim",
                    """
                    UPDATE owner SET epoch = 1, claim = 7, released = false, node = 'old', backend = pg_backend_pid(),
                        until = clock_timestamp() + interval '60 s', backend_start =
                            (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())
                    """
                )
            )
        }

        /// Begins a commit that adds a block.
        func begin() throws {
            ticket += 1
            var fence = Parameters()
            for number in [1, 7, ticket, 60_000] { fence.add(number) }
            var block = Parameters()
            block.add("\(ticket)")
            try connection.run([
                Connection.Step(SQL("begin", "BEGIN")),
                Connection.Step(SQL("fence", "SELECT fence($1, $2, $3, $4)"), fence),
                Connection.Step(SQL("block", "INSERT INTO block (by, blocked, at) VALUES ('x', $1, 1)"), block),
            ])
        }

        func commit() throws { _ = try connection.run(SQL("commit", "COMMIT")) }

        func release() throws { _ = try connection.run(SQL("release", "UPDATE owner SET released = true")) }
    }

    private func register() throws -> PostgresOwnershipRegister {
        PostgresOwnershipRegister(
            schema.options,
            node: try #require(NodeID("n")),
            address: "",
            version: "",
            storeReport: { _ in },
            report: { _ in }
        )
    }

    private func version() throws -> Int64? {
        try schema.connection().run(SQL("version", "SELECT version FROM schema_version")).first?.int64(0)
    }

    @Test("Nodes migrate it while its owner commits, and nothing of the owner is lost")
    func whileOwned() throws {
        let isOver = Monitor(false)
        let result = Monitor<Result<Int64, any Error>?>(nil)
        let schema = schema
        let committed = Monitor<Int64>(0)
        let owner = try WorkThread(named: "old owner") {
            do {
                let owner = try OldOwner(schema)
                while !isOver.withLock({ $0 }) {
                    try owner.begin()
                    usleep(1_000)
                    try owner.commit()
                    committed.withLock { $0 = owner.ticket }
                }
                try owner.release()
                result.withLock { $0 = .success(owner.ticket) }
            } catch { result.withLock { $0 = .failure(error) } }
        }
        let began: Bool? = committed.wait(until: .now + .seconds(10)) { $0 > 20 ? true : nil }
        #expect(began == true)
        let registers = try (0..<3).map { _ in try register() }
        let threads = try registers.map { register in
            try WorkThread(named: "opening") { _ = Result { try register.open() } }
        }
        for thread in threads { thread.join() }
        #expect(try version() == Schema.version)
        let atMigration = committed.withLock { $0 }
        let goesOn: Bool? = committed.wait(until: .now + .seconds(10)) { $0 > atMigration + 20 ? true : nil }
        #expect(goesOn == true)
        isOver.withLock { $0 = true }
        owner.join()
        let tickets = try #require(try result.withLock { $0 }?.get())
        let store = PostgresCallStore(schema.options) { _ in }
        #expect(try store.open(at: now).blocks.count == Int(tickets))
        store.close()
        for register in registers { register.close() }
    }

    /// With ten million calls, each of these would hold the owner's lock for many seconds: an index of such a table must be
    /// made outside the migration, with `CREATE INDEX CONCURRENTLY`.
    @Test("No migration indexes, rewrites or searches a table that grows with the calls")
    func largeTables() {
        let large: Set<Substring> = ["call", "entry", "event"]
        for migration in Schema.migrations.dropFirst() {
            let lines = migration.text.split(separator: "\n").map { line in
                line.split(separator: "--", maxSplits: 1, omittingEmptySubsequences: false)[0]
            }
            for statement in lines.joined(separator: " ").split(separator: ";") {
                let words = statement.split { !$0.isLetter && $0 != "_" }
                guard words.contains(where: large.contains), !words.starts(with: ["CREATE", "TABLE"]) else {
                    continue
                }
                // An index of another table, of which a column has the name of a large table.
                if words.starts(with: ["CREATE", "INDEX"]), words.dropFirst(3).first == "ON", !large.contains(words[4])
                {
                    continue
                }
                let isColumn =
                    words.starts(with: ["ALTER", "TABLE"]) && words.dropFirst(3).starts(with: ["ADD", "COLUMN"])
                #expect(isColumn && words.count == 7, "\(migration.name): \(statement)")
            }
        }
    }

    @Test("A migration waits for a commit of the owner, and closes the owner's connection only after the lease")
    func waits() throws {
        let owner = try OldOwner(schema)
        try owner.begin()
        let register = try register()
        let opening = try WorkThread(named: "opening") { _ = Result { try register.open() } }
        try schema.waitUntilLocked()
        usleep(500_000)
        #expect(try version() == 1)
        try owner.commit()
        opening.join()
        #expect(try version() == Schema.version)
        register.close()
    }

    @Test("An owner whose lease has run out in a transaction does not stop a migration")
    func frozen() throws {
        let owner = try OldOwner(schema)
        try schema.execute("UPDATE owner SET until = clock_timestamp() - interval '1 s'")
        try schema.connection().execute(
            SQL(
                "shorten",
                """
                CREATE OR REPLACE FUNCTION
                    fence(of_epoch bigint, of_claim bigint, new_ticket bigint, lease_milliseconds bigint)
                RETURNS void LANGUAGE sql
                AS 'UPDATE owner SET ticket = ticket'
                """
            )
        )
        try owner.begin()
        let store = PostgresCallStore(schema.options) { _ in }
        #expect(try store.open(at: now).uncleanStarts == 0)
        #expect(try version() == Schema.version)
        #expect(throws: PostgresError.self) { try owner.commit() }
        store.close()
    }

    @Test("A migration that is not possible is given up when the start is ended")
    func ended() throws {
        let owner = try OldOwner(schema)
        try owner.begin()
        var options = schema.options
        options.ownerWait = OwnerWait(isOver: { true })
        do {
            _ = try PostgresCallStore(options) { _ in }.open(at: now)
            Issue.record("opened")
        } catch { #expect(error.message.contains("holds a lock")) }
        #expect(try version() == 1)
        try owner.commit()
    }

    @Test("A reader refuses it, and a newer version of the tables stays as it is")
    func otherVersions() throws {
        #expect(throws: StoreFailure.self) { try DatabaseReader(schema.options) }
        #expect(try DatabaseInspector(schema.options).facts().schemaVersion == 1)
        try schema.execute("UPDATE schema_version SET version = 9")
        #expect(throws: StoreFailure.self) { try PostgresCallStore(schema.options) { _ in }.open(at: now) }
        #expect(try version() == 9)
    }
}
