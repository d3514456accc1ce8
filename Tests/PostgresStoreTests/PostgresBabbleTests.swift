import CallCore
import CallPorts
import CallTesting
import Postgres
import Testing
import Threads

@testable import PostgresStore

@Suite("A PostgreSQL server that sends bytes for ever and no response", .timeLimit(.minutes(3)))
final class PostgresBabbleTests {
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
        options.stallMilliseconds = 300
        options.queryMilliseconds = 300
        options.leaseMilliseconds = 30_000
        self.options = options
    }

    deinit { proxy.end() }

    private func open() throws -> PostgresCallStore {
        let store = PostgresCallStore(options) { [reports] in reports.add($0) }
        _ = try store.open(at: now)
        return store
    }

    @Test("A commit that waits for it counts as stalled, and the store can be closed", arguments: Babble.allCases)
    func commit(_ babble: Babble) throws {
        let store = try open()
        proxy.babble(babble)
        let (alice, bob) = (try #require(UserID("alice")), try #require(UserID("bob")))
        store.commit([.blocked(alice, by: bob, at: now)], as: Ticket(rawValue: 1))
        try reports.wait { $0.contains("stalled") }
        store.close()
    }

    @Test("A query that waits for it fails", arguments: Babble.allCases)
    func query(_ babble: Babble) throws {
        let store = try open()
        let alice = try #require(UserID("alice"))
        store.submit(.peers(alice, limit: 1), as: StoreQueryID(rawValue: 1))
        try reports.wait { $0.contains("answered 1") }
        proxy.babble(babble)
        store.submit(.peers(alice, limit: 1), as: StoreQueryID(rawValue: 2))
        try reports.wait { $0.contains("failed 2") }
        store.close()
    }

    @Test("A statement of the register fails", arguments: Babble.allCases)
    func register(_ babble: Babble) throws {
        let connection = RegisterConnection(options, WakeUp())
        let one = SQL("one", "SELECT 1::bigint")
        func run() throws(StoreFailure) {
            _ = try connection.run { link throws(PostgresError) in try link.run(one) }
        }
        try run()
        proxy.babble(babble)
        #expect(throws: StoreFailure.self) { try run() }
    }

    @Test("An attempt to connect ends", arguments: Babble.allCases)
    func connect(_ babble: Babble) throws {
        proxy.babble(babble)
        let url = "postgres://ring@127.0.0.1:\(proxy.port)/none?connect_timeout=1&sslmode=disable"
        let settings = try ConnectionSettings(url: url)
        do throws(PostgresError) {
            _ = try Connection(settings)
            Issue.record("there is a connection")
        } catch {
            #expect(error.state == .connection && error.message.contains("timeout expired"), "\(error)")
        }
    }

    @Test("After a host that only sends bytes, the next one is tried")
    func nextHost() throws {
        proxy.babble(.notices)
        let server = try PostgresServer.running()
        let single = try server.settings(port: server.port)
        let hosts = "host=127.0.0.1,127.0.0.1 port=\(proxy.port),\(server.port) connect_timeout=1 sslmode=disable"
        let settings = try ConnectionSettings(
            url: "\(hosts) user=\(single.user ?? "") dbname=\(single.database ?? "")"
        )
        #expect(try Connection(settings).run(SQL("one", "SELECT 1::bigint")).first?.int64(0) == 1)
    }
}
