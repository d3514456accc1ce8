import CallCore
import CallPorts
import CallTesting
import Postgres
import Testing
import Threads

@testable import PostgresStore

@Suite("A PostgreSQL server that sends bytes for ever and no response", .timeLimit(.minutes(3)))
struct PostgresBabbleTests {
    private let rig: ProxiedStore

    init() throws {
        rig = try ProxiedStore { options in
            options.stallMilliseconds = 300
            options.queryMilliseconds = 300
        }
    }

    @Test("A commit that waits for it counts as stalled, and the store can be closed", arguments: Babble.allCases)
    func commit(_ babble: Babble) throws {
        let store = try rig.open()
        rig.proxy.babble(babble)
        let (alice, bob) = (try #require(UserID("alice")), try #require(UserID("bob")))
        store.commit([.blocked(alice, by: bob, at: rig.now)], as: Ticket(rawValue: 1))
        try rig.reports.wait { $0.contains("stalled") }
        store.close()
    }

    @Test("A query that waits for it fails", arguments: Babble.allCases)
    func query(_ babble: Babble) throws {
        let store = try rig.open()
        let alice = try #require(UserID("alice"))
        store.submit(.peers(alice, limit: 1), as: StoreQueryID(rawValue: 1))
        try rig.reports.wait { $0.contains("answered 1") }
        rig.proxy.babble(babble)
        store.submit(.peers(alice, limit: 1), as: StoreQueryID(rawValue: 2))
        try rig.reports.wait { $0.contains("failed 2") }
        store.close()
    }

    @Test("A statement of the register fails", arguments: Babble.allCases)
    func register(_ babble: Babble) throws {
        let connection = RegisterConnection(rig.options, WakeUp())
        let one = SQL("one", "SELECT 1::bigint")
        func run() throws(StoreFailure) {
            _ = try connection.run { link throws(PostgresError) in try link.run(one) }
        }
        try run()
        rig.proxy.babble(babble)
        #expect(throws: StoreFailure.self) { try run() }
    }

    @Test("An attempt to connect ends", arguments: Babble.allCases)
    func connect(_ babble: Babble) throws {
        rig.proxy.babble(babble)
        let url = "postgres://ring@127.0.0.1:\(rig.proxy.port)/none?connect_timeout=1&sslmode=disable"
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
        rig.proxy.babble(.notices)
        let server = try PostgresServer.running()
        let single = try server.settings(port: server.port)
        let hosts = "host=127.0.0.1,127.0.0.1 port=\(rig.proxy.port),\(server.port) connect_timeout=1 sslmode=disable"
        let settings = try ConnectionSettings(
            url: "\(hosts) user=\(single.user ?? "") dbname=\(single.database ?? "")"
        )
        #expect(try Connection(settings).run(SQL("one", "SELECT 1::bigint")).first?.int64(0) == 1)
    }
}
