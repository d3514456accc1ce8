import CallCore
import CallPorts
import CallTesting
import Glibc
import Postgres
import Testing
import Threads

@testable import PostgresStore

@Suite("A PostgreSQL store whose database cannot be used")
struct PostgresStoreFailureTests {
    private let schema: TemporarySchema
    private let server: PostgresServer
    private let now = Moment(milliseconds: 1_800_000_000_000)

    init() throws {
        server = try PostgresServer.running()
        schema = try TemporarySchema()
    }

    /// Returns the message with which a store with changed options refuses to open; empty if it opens.
    private func failure(_ change: (inout StoreOptions) throws -> Void) throws -> String {
        var options = schema.options
        try change(&options)
        do {
            let store = PostgresCallStore(options) { _ in }
            _ = try store.open(at: now)
            store.close()
            return ""
        } catch { return error.message }
    }

    @Test("Wrong passwords and roles that may not connect or create are reported without any password")
    func authentication() throws {
        // An earlier run of the test on the same server may have left the roles.
        try schema.execute(
            """
            DROP ROLE IF EXISTS secured;
            CREATE ROLE secured LOGIN PASSWORD 'right-hand';
            DROP ROLE IF EXISTS stranger;
            CREATE ROLE stranger LOGIN
            """
        )
        let url = "postgres://secured:secret-in-url@127.0.0.1:\(server.port)/postgres?sslmode=disable"
        for password in ["secret-in-file", nil] {
            let message = try failure { $0.settings = try ConnectionSettings(url: url, password: password) }
            #expect(message.contains("refuses the password of the user secured"))
            #expect(message.contains("postgres://127.0.0.1:\(server.port)/postgres") && !message.contains("secret"))
        }
        #expect(
            try failure { $0.settings = try ConnectionSettings(url: url, password: "right-hand") }.contains(
                "CREATE SCHEMA"
            )
        )
        #expect(try failure { $0.settings = try server.settings(user: "stranger") }.contains("pg_hba.conf"))
        #expect(try failure { $0.settings = try server.settings(user: "nobody-known") }.contains("create the role"))
    }

    @Test("A missing database, an unknown host and a port without a server are reported")
    func unreachable() throws {
        #expect(
            try failure { $0.settings = try server.settings(database: "none") }.contains(
                "createdb --encoding=UTF8 none"
            )
        )
        let unknown = try failure { $0.settings = try ConnectionSettings(url: "postgres://x@no-such-host.invalid/y") }
        #expect(unknown.contains("The host of the database postgres://no-such-host.invalid/y cannot be resolved"))
        let port = try freePort()
        let refused = try failure { $0.settings = try server.settings(port: port) }
        #expect(refused.contains("postgres://127.0.0.1:\(port)/postgres cannot be reached"))
    }

    @Test("A read-only server is reported")
    func readOnly() throws {
        let url = "postgres://ring@127.0.0.1:\(server.port)/postgres?options=-cdefault_transaction_read_only%3Don"
        #expect(
            try failure { $0.settings = try ConnectionSettings(url: url) }.contains("is read-only: it is a standby")
        )
    }

    @Test("A database with another encoding is refused")
    func encoding() throws {
        let connection = try Connection(server.settings())
        try connection.execute(SQL("create", "DROP DATABASE IF EXISTS ascii"))
        try connection.execute(
            SQL("create", "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        )
        #expect(
            try failure { $0.settings = try server.settings(database: "ascii") }.contains("has the encoding SQL_ASCII")
        )
    }

    @Test("A database with a newer schema is refused, and the message names both versions of the schema")
    func newer() throws {
        #expect(try failure { _ in }.isEmpty)
        try schema.execute("UPDATE schema_version SET version = 9")
        #expect(try failure { _ in }.contains("newer ringline (schema 9, this one knows 7)"))
    }

    @Test("A server is refused while another owns the database; one that waits claims it after the release")
    func waiting() throws {
        let first = PostgresCallStore(schema.options) { _ in }
        _ = try first.open(at: now)
        #expect(
            try failure { $0.machine = "elsewhere" }.contains(
                "in use by another ringline, on \(schema.options.machine)"
            )
        )
        #expect(try failure { $0.ownerWait = OwnerWait(milliseconds: 60_000, isOver: { true }) }.contains("in use"))
        let holders = Monitor<[String]>([])
        var options = schema.options
        options.ownerWait = OwnerWait(
            milliseconds: 20_000,
            onWait: { holder in holders.withLock { $0.append(holder) } }
        )
        let second = PostgresCallStore(options) { _ in }
        // The store opens on a thread of its own, because a test that blocks would block a thread of the shared pool.
        let opened = Monitor<Int?>(nil)
        let opening = try WorkThread(named: "opening") { [now] in
            // After a failure, `opened` stays `nil`.
            let count = try? second.open(at: now).uncleanStarts
            opened.withLock { $0 = count }
        }
        let isWaiting = holders.wait(until: .now + .seconds(10)) { $0.isEmpty ? nil : true }
        #expect(isWaiting == true)
        first.close()
        opening.join()
        #expect(opened.withLock { $0 } == 0)
        #expect(holders.withLock { $0 } == [schema.options.machine])
        second.close()
    }

    @Test("If PostgreSQL closes the store's connections, no commit is lost, and the store does not stall")
    func terminated() throws {
        let reports = StoreReports()
        let store = PostgresCallStore(schema.options) { reports.add($0) }
        _ = try store.open(at: now)
        for ticket in 1...5 as ClosedRange<UInt64> {
            try schema.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE application_name = '\(schema.options.schema)' AND pid <> pg_backend_pid()
                """
            )
            store.commit([.blocked(try user("\(ticket)"), by: try user("x"), at: now)], as: Ticket(rawValue: ticket))
            store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: ticket))
            try reports.wait { $0.contains("committed \(ticket)") && $0.contains("answered \(ticket)") }
        }
        store.close()
        #expect(!reports.now.reported.contains("stalled"))
        let next = PostgresCallStore(schema.options) { _ in }
        let state = try next.open(at: now)
        #expect(state.blocks.count == 5 && state.uncleanStarts == 0)
        next.close()
    }

    @Test("While a table is locked the store is stalled and fails queries; afterwards it commits in order")
    func stalled() throws {
        let reports = StoreReports()
        var options = schema.options
        options.stallMilliseconds = 200
        let store = PostgresCallStore(options) { reports.add($0) }
        _ = try store.open(at: now)
        let blocker = try schema.connection()
        try blocker.execute(SQL("lock", "BEGIN"))
        try blocker.execute(SQL("lock", "LOCK TABLE block"))
        store.commit([.blocked(try user("1"), by: try user("x"), at: now)], as: Ticket(rawValue: 1))
        try reports.wait { $0.last == "stalled" }
        #expect(reports.now.failures.last?.contains("has not confirmed a commit for 200 ms") == true)
        store.commit([.unblocked(try user("1"), by: try user("x"))], as: Ticket(rawValue: 2))
        store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: 1))
        try reports.wait { $0.contains("failed 1") }
        try blocker.execute(SQL("lock", "COMMIT"))
        try reports.wait { $0.contains("committed 2") }
        store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: 2))
        try reports.wait { $0.contains("answered 2") }
        store.close()
        let others = reports.now.reported.filter { !$0.hasPrefix("committed") }
        #expect(others == ["stalled", "failed 1", "recovered", "answered 2"])
    }

    @Test("A query that has failed in a stall gets no second result after the stall")
    func failedOnce() throws {
        let reports = StoreReports()
        var options = schema.options
        // So long that no commit of the test takes it on a busy machine.
        options.stallMilliseconds = 3_000
        let store = PostgresCallStore(options) { reports.add($0) }
        _ = try store.open(at: now)
        let (first, second) = (try schema.connection(), try schema.connection())
        try first.execute(SQL("lock", "BEGIN; LOCK TABLE block"))
        try second.execute(SQL("lock", "BEGIN; LOCK TABLE do_not_disturb"))
        store.commit([.blocked(try user("1"), by: try user("x"), at: now)], as: Ticket(rawValue: 1))
        try schema.waitUntilLocked()
        // The writer is busy with the first commit, so it takes the second one together with the query.
        store.commit([.doNotDisturb(try user("1"), until: now)], as: Ticket(rawValue: 2))
        store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: 1))
        try first.execute(SQL("unlock", "COMMIT"))
        try reports.wait { $0.contains("failed 1") }
        try second.execute(SQL("unlock", "COMMIT"))
        try reports.wait { $0.contains("committed 2") }
        // Queries run in order, so a second result of the first one would come before this.
        store.submit(.peers(try user("x"), limit: 1), as: StoreQueryID(rawValue: 2))
        try reports.wait { $0.contains("answered 2") }
        store.close()
        #expect(reports.now.repeated.isEmpty)
        let expected = ["committed 1", "stalled", "failed 1", "recovered", "committed 2", "answered 2"]
        #expect(reports.now.reported == expected)
    }

    @Test("A report may release the last reference to the store", arguments: ["committed 1", "answered 1"])
    func released(_ last: String) throws {
        let reports = StoreReports()
        let store = Monitor<PostgresCallStore?>(nil)
        let isReleased = Monitor(false)
        // No variable of the test may hold the store when it is released.
        store.withLock { [options = schema.options] in
            $0 = PostgresCallStore(options) { report in
                reports.add(report)
                guard reports.now.reported.last == last else { return }
                do { _ = store.withLock { $0.take() } }
                isReleased.withLock { $0 = true }
            }
        }
        let changes: [Change] = [.blocked(try user("1"), by: try user("x"), at: now)]
        let query = StoreQuery.peers(try user("x"), limit: 1)
        try store.withLock { [now] in
            _ = try $0?.open(at: now)
            _ = $0?.commit(changes, as: Ticket(rawValue: 1))
            $0?.submit(query, as: StoreQueryID(rawValue: 1))
        }
        #expect(isReleased.wait(until: .now + .seconds(10)) { $0 ? true : nil } == true)
    }

    private func user(_ text: String) throws -> UserID { try #require(UserID(text)) }
}

@Suite("A connection URL")
struct ConnectionSettingsTests {
    @Test("It is shown with all its hosts, without user, password and parameters")
    func shown() throws {
        let settings = try ConnectionSettings(url: "postgres://ring:secret@a:1,b:2/calls?sslmode=require")
        #expect(settings.shown == "postgres://a:1,b:2/calls")
        #expect(settings.user == "ring" && settings.database == "calls")
        #expect(try ConnectionSettings(url: "host=/run/postgresql dbname=x").shown == "postgres:///run/postgresql/x")
    }

    @Test(
        "An invalid one is refused without being quoted",
        arguments: [
            "postgres://u:secret@[::1/x", "mysql://u:secret@h/x", "postgres://u:secret@h/x?secret=1", "secret", "",
            // libpq takes the part of a password before the first slash for the port, and the rest for the database.
            "postgres://u:secret/more@h/x", "postgres://u:7/secret@h/x", "postgres://u:7/secret@h",
            "postgres://u:my@secret@h/x", "host=h port=secret", "postgres://h:1,i:secret/x", "postgres://h:65536/x",
        ]
    )
    func invalid(_ url: String) {
        do {
            _ = try ConnectionSettings(url: url)
            Issue.record("\(url) was accepted")
        } catch { #expect(!error.reason.contains("secret")) }
    }

    @Test("Escaped characters and a password after which no slash comes are accepted")
    func escaped() throws {
        let settings = try ConnectionSettings(url: "postgres://u:a%2Fb%40c@h:1/x%40y?application_name=a@b")
        #expect(settings.shown == "postgres://h:1/x@y" && settings.hasPassword)
        #expect(try ConnectionSettings(url: "postgres://h,i:2/x").shown == "postgres://h,i:2/x")
    }

    @Test("The password of a TLS key is a password as well")
    func passwordOfKey() throws {
        #expect(try ConnectionSettings(url: "postgres://u@h/x?sslpassword=y").hasPassword)
        #expect(try !ConnectionSettings(url: "postgres://u@h/x?sslmode=require").hasPassword)
    }
}
