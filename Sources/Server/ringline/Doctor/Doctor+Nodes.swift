import CallPorts
import Diagnostics
import PostgresStore

extension Doctor {
    /// Checks this node's own address and port, and whether the other nodes can be reached.
    ///
    /// Returns an empty array if the server is not one node of several. `listed` is the database's list of nodes, the one
    /// that was seen last first; `nil` if it cannot be read.
    func nodes(_ listed: [ListedNode]?) -> [Finding] {
        guard let own = settings.nodes else { return [] }
        let address = own.address.text
        var findings: [Finding] = []
        if usesNetwork {
            findings.append(Rating.nodeAddress(address, fault: NodeProbe.faultOfName(own.address.host)))
        }
        findings.append(
            Rating.nodeListening(
                NodeProbe.listening(host: own.listen.host, port: own.listen.port),
                own.listen.text,
                isListed: listed.map { nodes in nodes.contains { $0.address == address && $0.isAlive } }
            )
        )
        guard let listed else { return findings }
        if let finding = Rating.nodeSettings(listed) { findings.append(finding) }
        let others = ListedNode.newest(of: listed).filter { $0.address != address }
        findings.append(Rating.nodeCount(others.count(where: \.isAlive) + 1))
        guard usesNetwork else { return findings }
        return findings + others.map(finding)
    }

    private func finding(_ node: ListedNode) -> Finding {
        let fault =
            ListenAddress(node.address).map { NodeProbe.faultOfConnecting(host: $0.host, port: $0.port) }
            ?? "its address is not HOST:PORT"
        return Rating.node(node, fault: fault, ours: Version.text)
    }

    /// Reads the database's list of nodes.
    static func listedNodes(_ inspector: DatabaseInspector) throws(StoreFailure) -> [ListedNode] {
        try inspector.nodes().map {
            ListedNode(
                id: $0.id,
                address: $0.address,
                version: $0.version,
                unseen: $0.seenMillisecondsAgo,
                settings: Dictionary(
                    $0.settings.map { (Setting.named($0)?.name ?? $0, $1) },
                    uniquingKeysWith: { first, _ in first }
                )
            )
        }
    }
}
