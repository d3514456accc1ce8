package import CallPorts

/// The configuration of a gateway that is one node of several.
package struct NodeConfiguration: Sendable {
    /// The id of this run of the node.
    package var id: NodeID
    /// The address at which the node accepts links of other nodes.
    package var listen: (host: String, port: Int)

    /// Creates a configuration of these parts.
    package init(id: NodeID, listen: (host: String, port: Int)) {
        self.id = id
        self.listen = listen
    }
}
