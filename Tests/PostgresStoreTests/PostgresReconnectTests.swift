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
}
