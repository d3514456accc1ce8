import Postgres
import PostgresStore

/// The settings of a server that is one node of several.
struct NodeSettings: Equatable {
    /// Where the node accepts links of other nodes.
    let listen: ListenAddress
    /// Where the other nodes reach this one; never an address that stands for all addresses of the machine.
    let address: ListenAddress
    /// How long the lease on the database lasts after the owner's last commit, in milliseconds: 1,000 to 60,000.
    let leaseMilliseconds: Int64
}

extension NodeSettings {
    /// Reads `node-listen` and `node-address`; returns `nil` if the server is not one node of several.
    init?(
        _ source: SettingsSource,
        store: ConnectionSettings?,
        leaseMilliseconds: Int64
    ) throws(UsageError) {
        guard let listen = try source[\.nodeListen] else {
            guard !source.isGiven(\.nodeAddress) else {
                throw source.refusal(of: \.nodeAddress, "needs --node-listen")
            }
            return nil
        }
        guard let store else {
            throw source.refusal(of: \.nodeListen, "needs --store: several nodes share a PostgreSQL database")
        }
        self.listen = listen
        self.leaseMilliseconds = leaseMilliseconds
        if let given = try source[\.nodeAddress] {
            address = given
            guard !address.isWildcard else {
                throw source.refusal(
                    of: \.nodeAddress,
                    "must be an address that the other nodes can connect to, not '\(address.text)'"
                )
            }
        } else if listen.isWildcard {
            let name = StoreOptions(store).machine
            guard !name.isEmpty else { throw UsageError("--node-address must be given: this machine has no host name") }
            address = ListenAddress(host: name, port: listen.port)
        } else {
            address = listen
        }
    }

    /// Reads `lease`, in milliseconds.
    static func lease(_ source: SettingsSource, store: ConnectionSettings?) throws(UsageError) -> Int64 {
        let milliseconds = try source[\.lease]
        guard store != nil || !source.isGiven(\.lease) else { throw source.refusal(of: \.lease, "needs --store") }
        return milliseconds
    }
}

extension ListenAddress {
    /// Whether the host stands for all addresses of the machine.
    fileprivate var isWildcard: Bool { ["0.0.0.0", "::"].contains(host) }
}
