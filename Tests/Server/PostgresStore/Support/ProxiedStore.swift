import CallCore
import CallPorts
import CallTesting

@testable import PostgresStore

/// A store in a schema of its own, which reaches PostgreSQL through a proxy that causes faults.
final class ProxiedStore {
    let schema: TemporarySchema
    let proxy: FaultyProxy
    let options: StoreOptions
    let reports = StoreReports()
    let now = Moment(milliseconds: 1_800_000_000_000)

    /// The lease is so long that no transaction but those of the test renews it.
    init(_ adjust: (inout StoreOptions) -> Void) throws {
        let server = try PostgresServer.running()
        schema = try TemporarySchema()
        proxy = try FaultyProxy(to: server.port)
        var options = schema.options
        options.settings = try server.settings(port: proxy.port, name: schema.options.schema)
        options.leaseMilliseconds = 30_000
        adjust(&options)
        self.options = options
    }

    deinit { proxy.end() }

    /// Opens the store with these options, or its own.
    func open(_ options: StoreOptions? = nil) throws -> PostgresCallStore {
        let store = PostgresCallStore(options ?? self.options) { [reports] in reports.add($0) }
        _ = try store.open(at: now)
        return store
    }
}
