import CallPorts
import Glibc
package import Postgres

/// The database of a store, and how the store uses it.
package struct StoreOptions: Sendable {
    /// The settings of the connections, with the server and the database.
    package var settings: ConnectionSettings
    /// The schema with the store's tables; the store creates it if it is missing.
    ///
    /// It separates these tables from the tables of an app in the same database.
    package var schema = "ringline"
    /// The name of this machine, which other servers show to the operator; by default its host name.
    package var machine: String
    /// How `open(at:)` waits while another server owns the database.
    package var ownerWait = OwnerWait()
    /// How long the lease lasts after the last transaction of the owner, in milliseconds.
    ///
    /// An owner without traffic renews the lease after a third of this time. The lease only decides when another server
    /// may claim the database. The fence in each transaction ensures that a former owner writes nothing.
    package var leaseMilliseconds: Int64 = 3_000
    /// How long a transaction may take before the store reports a stall, in milliseconds.
    ///
    /// If the database cannot be reached, the store reports the stall after the first failed attempt to connect again.
    var stallMilliseconds: Int64 = 3_000
    /// How long a query of a server waits for a response, in milliseconds.
    ///
    /// PostgreSQL itself ends a query sooner (`Connection.Purpose.queries`), but a server that is not in order may neither
    /// respond nor end the connection.
    var queryMilliseconds: Int64 = 12_000
    /// The claim of a server that is one of several nodes; `nil` = the server is not one, and waits for other owners.
    var nodeClaim: NodeClaim?
    /// The limit on the confirmed commits that are kept in memory, in case a fail-over loses them.
    var recentCommitsLimit = RecentCommits.Limit(milliseconds: 300_000, bytes: 128 << 20)

    /// Creates options for a database, with default values for everything else.
    package init(_ settings: ConnectionSettings) {
        self.settings = settings
        var name = [CChar](repeating: 0, count: 256)
        // If the call fails, `machine` stays empty.
        gethostname(&name, name.count - 1)
        machine = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// A claim by a server that is one of several nodes: it is made at once, whatever the lease says.
///
/// `Nodes.Tenure` has decided that the node claims.
struct NodeClaim: Sendable {
    let node: NodeID
    /// The address at which the node accepts links of other nodes.
    let address: String
    /// The epoch to supersede (compare-and-swap).
    let after: OwnerEpoch
    /// The newest ownership that the node knows; the claim is above it.
    let above: OwnerEpoch
    /// Called when the claim is durable, before the calls are read.
    let onClaim: @Sendable () -> Void
}

extension StoreOptions {
    /// The schema's name as a quoted identifier of SQL.
    var quotedSchema: String {
        "\"\(schema.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
    }

    /// Returns the parameters that `body` adds to an empty list.
    func parameters(_ body: (inout Parameters) -> Void) -> Parameters {
        var parameters = Parameters()
        body(&parameters)
        return parameters
    }
}
