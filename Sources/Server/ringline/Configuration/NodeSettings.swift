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
        guard try source.value("node-listen") != nil else {
            guard try source.value("node-address") == nil else {
                throw UsageError("\(source.origin(of: "node-address")): needs --node-listen")
            }
            return nil
        }
        let listen = try source.bindable(try Self.address("node-listen", source), "node-listen")
        guard let store else {
            throw UsageError(
                "\(source.origin(of: "node-listen")): needs --store: several nodes share a PostgreSQL database"
            )
        }
        self.listen = listen
        self.leaseMilliseconds = leaseMilliseconds
        if try source.value("node-address") != nil {
            address = try Self.address("node-address", source)
            guard !address.isWildcard else {
                throw UsageError(
                    "\(source.origin(of: "node-address")): must be an address that the other nodes can connect to, "
                        + "not '\(address.text)'"
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
        let text = try source.value("lease") ?? ""
        guard let seconds = Double(text), (1...60).contains(seconds) else {
            throw UsageError("\(source.origin(of: "lease")): must be a number of seconds from 1 to 60, not '\(text)'")
        }
        guard store != nil || !source.isGiven("lease") else {
            throw UsageError("\(source.origin(of: "lease")): needs --store")
        }
        return Int64((seconds * 1_000).rounded())
    }

    /// Reads an address that other nodes can use: its port is fixed, and its host has no blanks or control characters.
    private static func address(_ name: String, _ source: SettingsSource) throws(UsageError) -> ListenAddress {
        let text = try source.value(name) ?? ""
        guard let address = ListenAddress(text), address.port > 0, address.host.utf8.count <= 253,
            address.host.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw UsageError(
                "\(source.origin(of: name)): must be HOST:PORT with a port from 1, as in 10.0.0.5:7070, not '\(text)'"
            )
        }
        return address
    }
}

extension ListenAddress {
    /// Whether the host stands for all addresses of the machine.
    fileprivate var isWildcard: Bool { ["0.0.0.0", "::"].contains(host) }
}
