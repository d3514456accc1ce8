import CallPorts
import CallTesting
import Postgres
import Testing

@testable import PostgresStore

@Suite("The PostgreSQL store")
struct PostgresStoreContractTests {
    @Test(
        "The PostgreSQL store meets the contract of every store",
        arguments: StoreContract.cases + StoreContract.lanes
    )
    func calls(_ promise: StoreContract.Case) throws { try promise.run(at: try TemporarySchema()) }

    @Test("The reader of a database meets the contract of a reader", arguments: ReaderContract.cases)
    func reader(_ promise: ReaderContract.Case) throws { try promise.run(at: try TemporarySchema()) }

    @Test(
        "The PostgreSQL store meets the contract of a store with impossible values",
        arguments: DamageContract.cases
    )
    func damage(_ promise: ReaderContract.Case) throws {
        let schema = try TemporarySchema()
        try promise.run(at: schema)
        try schema.execute("DROP SCHEMA \(schema.options.schema) CASCADE")
    }

    @Test(
        "The PostgreSQL store meets the contract of a store whose database one server at a time owns",
        .timeLimit(.minutes(2)),
        arguments: OwnershipContract.cases
    )
    func ownership(_ promise: OwnershipContract.Case) throws { try promise.run(at: try ProxiedSchema()) }

    @Test(
        "The PostgreSQL register meets the contract of a register of owners and nodes",
        .timeLimit(.minutes(2)),
        arguments: RegisterContract.cases
    )
    func register(_ promise: RegisterContract.Case) throws { try promise.run(at: try ProxiedSchema()) }
}

@Suite("The PostgreSQL store on a primary with a synchronous standby", .serialized)
struct ReplicatedStoreContractTests {
    private let server: PostgresServer

    init() throws { server = try ReplicatedServer.running().primary }

    @Test("It meets the contract of every store", arguments: StoreContract.cases)
    func calls(_ promise: StoreContract.Case) throws { try promise.run(at: try TemporarySchema(on: server)) }

    @Test(
        "It meets the contract of a store whose database one server at a time owns",
        .timeLimit(.minutes(2)),
        arguments: OwnershipContract.cases
    )
    func ownership(_ promise: OwnershipContract.Case) throws { try promise.run(at: try ProxiedSchema(on: server)) }

    @Test(
        "Its register meets the contract of a register of owners and nodes",
        .timeLimit(.minutes(2)),
        arguments: RegisterContract.cases
    )
    func register(_ promise: RegisterContract.Case) throws { try promise.run(at: try ProxiedSchema(on: server)) }
}

/// A schema that only one case uses; each machine reaches PostgreSQL through a proxy of its own, which causes faults.
private final class ProxiedSchema: OwnershipContract.Storage {
    /// So long that an owner on a busy machine still renews its lease in time.
    let leaseMilliseconds: Int64 = 1_000

    private let schema: TemporarySchema
    private let server: PostgresServer
    private var proxies: [String: FaultyProxy] = [:]

    init(on server: PostgresServer? = nil) throws {
        self.server = try server ?? PostgresServer.running()
        schema = try TemporarySchema(on: server)
        for node in ["a", "b", "c"] { proxies[node] = try FaultyProxy(to: self.server.port) }
    }

    deinit { for proxy in proxies.values { proxy.end() } }

    func makeStore(node: String, report: @escaping @Sendable (StoreReport) -> Void) -> any CallStore {
        var options = schema.options
        options.machine = node
        options.stallMilliseconds = 500
        options.leaseMilliseconds = leaseMilliseconds
        do { options.settings = try settings(of: node) } catch { Issue.record(error) }
        return PostgresCallStore(options, report: report)
    }

    private func settings(of machine: String) throws -> ConnectionSettings {
        try server.settings(port: proxies[machine]?.port, name: schema.options.schema)
    }

    func cause(_ fault: OwnershipContract.Fault, at node: String) { proxies[node]?.cause(fault) }

    func forget(after ticket: UInt64) throws {
        // Each commit of the case adds one event, so an event's position is the ticket of its commit.
        try schema.execute(
            """
            BEGIN;
            DELETE FROM event WHERE position > \(ticket);
            UPDATE owner SET ticket = \(ticket);
            SELECT pg_terminate_backend(backend::integer) FROM owner;
            COMMIT
            """
        )
    }
}

extension ProxiedSchema: RegisterContract.Storage {
    func makeRegister(
        node: NodeID,
        storeReport: @escaping @Sendable (StoreReport) -> Void,
        report: @escaping @Sendable (OwnershipReport) -> Void
    ) -> any OwnershipRegister {
        var options = schema.options
        options.machine = String(node.text.prefix { $0 != "-" })
        // So long that no claim of a case can rely on its end.
        options.leaseMilliseconds = 30_000
        do { options.settings = try settings(of: options.machine) } catch { Issue.record(error) }
        return PostgresOwnershipRegister(
            options,
            node: node,
            address: node.text,
            version: "1",
            storeReport: storeReport,
            report: report
        )
    }
}
