/// A node in the database's list of nodes.
package struct ListedNode: Equatable {
    /// The id of the node's run.
    package let id: String
    /// The address at which the node accepts links of other nodes: host and port.
    package let address: String
    /// The version of the node's ringline.
    package let version: String
    /// How long ago the node last renewed its entry, in milliseconds.
    package let unseen: Int64
    /// Digests of the settings with which the node was started, by name.
    package let settings: [String: String]

    /// Creates an entry of these parts.
    package init(id: String, address: String, version: String, unseen: Int64, settings: [String: String] = [:]) {
        self.id = id
        self.address = address
        self.version = version
        self.unseen = unseen
        self.settings = settings
    }

    /// Whether the node has renewed its entry in the last 5 s.
    package var isAlive: Bool { unseen <= 5_000 }

    /// Returns the entry of each address that was seen last.
    ///
    /// A node that was killed stays in the list for a day, and counts as alive for 5 s. So a node that was started again
    /// is there twice. `listed` begins with the entry that was seen last.
    package static func newest(of listed: [ListedNode]) -> [ListedNode] {
        var addresses: Set<String> = []
        return listed.filter { addresses.insert($0.address).inserted }
    }
}

/// Rates the nodes of a database, and the addresses through which they reach each other.
extension Rating {
    /// The largest number of nodes of one database: the number of a socket has 3 bits for its node.
    package static let maximumNodes = 8

    /// Rates the address that this node tells the others; `fault` says why its name has no address.
    package static func nodeAddress(_ address: String, fault: String?) -> Finding {
        let subject = "node address"
        guard let fault else { return .ok(subject, "the other nodes connect to \(address)") }
        return .error(
            subject,
            "\(address) leads nowhere: \(fault)",
            fix: "give --node-address HOST:PORT, the address at which the other nodes reach this one"
        )
    }

    /// Rates the address on which this node accepts links.
    ///
    /// `isListed` is whether the database's list has a living node with this node's address, `nil` if it cannot be read.
    package static func nodeListening(
        _ listening: NodeProbe.Listening,
        _ address: String,
        isListed: Bool?
    ) -> Finding {
        let subject = "node listen"
        switch (listening, isListed) {
        case (.free, _): return .ok(subject, "\(address) is free")
        case (.taken, true?): return .ok(subject, "\(address) is in use by the running node")
        case (.taken, false?):
            return .error(
                subject,
                "\(address) is in use, and not by a node of this database",
                fix: "stop the program that listens there, or give --node-listen another port"
            )
        case (.taken, nil):
            return .warning(
                subject,
                "\(address) is in use; without the database it is unknown whether by this node",
                fix: "make the database reachable, and ask again"
            )
        case (.forbidden, _): return impossible("node-listen", "no node can", address, "permission denied")
        case (.impossible(let reason), _): return impossible("node-listen", "no node can", address, reason)
        }
    }

    /// Rates the address of another listener, `listen` or `admin-listen`; returns `nil` if a server can listen there.
    ///
    /// A port that is in use is right while the server runs.
    package static func listening(_ listening: NodeProbe.Listening, _ address: String, option: String) -> Finding? {
        switch listening {
        case .free, .taken: return nil
        case .forbidden:
            return .warning(
                option.replacing("-", with: " "),
                "this user may not listen on \(address)",
                fix: "give the server's user the right, such as CAP_NET_BIND_SERVICE, or --\(option) a port from 1024"
            )
        case .impossible(let reason): return impossible(option, "the server cannot", address, reason)
        }
    }

    private static func impossible(_ option: String, _ who: String, _ address: String, _ reason: String) -> Finding {
        .error(
            option.replacing("-", with: " "),
            "\(who) listen on \(address): \(reason)",
            fix: "give --\(option) an address of this machine, such as 0.0.0.0, and a port from 1024"
        )
    }

    /// Rates the number of living nodes, with this one.
    package static func nodeCount(_ count: Int) -> Finding {
        let subject = "nodes"
        guard count > maximumNodes else { return .ok(subject, count == 1 ? "only this one" : "\(count) with this one") }
        return .error(subject, "\(count) with this one: more than \(maximumNodes)", fix: "run fewer nodes")
    }

    /// Compares the settings of the living nodes; returns `nil` if there are not two that tell theirs.
    ///
    /// `nodes` begins with the node that was seen last.
    package static func nodeSettings(_ nodes: [ListedNode]) -> Finding? {
        let living = ListedNode.newest(of: nodes).filter { $0.isAlive && !$0.settings.isEmpty }
        guard living.count > 1 else { return nil }
        var differing: [String] = []
        for name in Set(living.flatMap(\.settings.keys)).sorted() {
            let groups = Dictionary(grouping: living) { $0.settings[name] ?? "" }
                .values.map { $0.map(\.address).sorted().joined(separator: ", ") }.sorted()
            if groups.count > 1 { differing.append("\(name) (\(groups.joined(separator: " | ")))") }
        }
        let subject = "node settings"
        guard !differing.isEmpty else { return .ok(subject, "the same on the \(living.count) running nodes") }
        return .error(
            subject,
            "these differ between the running nodes, so a call depends on its node: \(differing.joined(separator: "; "))",
            fix: "give all nodes the same values and files, compare with 'ringline config' on each, and restart them"
        )
    }

    /// Rates another node; `fault` says why no connection to it can be made, `ours` is the version of this ringline.
    package static func node(_ node: ListedNode, fault: String?, ours: String) -> Finding {
        let subject = "node \(node.address)"
        if let fault {
            guard node.isAlive else {
                return .warning(
                    subject,
                    "is in the database's list, was last seen \(node.unseen / 1_000) s ago, and cannot be reached: \(fault)",
                    fix: "start it again, or ignore this if it is gone for good"
                )
            }
            return .error(
                subject,
                "runs, but cannot be reached from here: \(fault)",
                fix:
                    "admit TCP between all nodes at that port, and give that node the --node-address at which the others reach it"
            )
        }
        guard node.isAlive else {
            return .warning(
                subject,
                "accepts connections, but was last seen in the database \(node.unseen / 1_000) s ago",
                fix: "check that machine's way to the database; and whether another program has the address now"
            )
        }
        guard node.version == ours else {
            return .warning(
                subject,
                "runs ringline \(node.version), and this is \(ours)",
                fix: "update all nodes, one after the other"
            )
        }
        return .ok(subject, "accepts connections, and runs ringline \(node.version)")
    }
}
