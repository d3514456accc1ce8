package import CallCore

/// The record of who owns the calls.
package struct OwnerRow: Equatable, Sendable {
    /// The ownership; each claim raises it.
    package var epoch: OwnerEpoch
    /// The node that owns the calls or owned them last; `nil` = a server that is not one of several nodes, or none.
    package var node: NodeID?
    /// The address at which that node accepts links of other nodes: host and port, or empty.
    package var address: String
    /// The time until the lease runs out, by the database's clock; 0 or less = it has run out.
    package var lease: Moment.Duration
    /// Whether the owner has released the calls.
    package var isReleased: Bool
    /// The node to which the owner has released the calls; `nil` = any node.
    package var heir: NodeID?

    /// Creates a record of these parts.
    package init(
        epoch: OwnerEpoch,
        node: NodeID?,
        address: String,
        lease: Moment.Duration,
        isReleased: Bool = false,
        heir: NodeID? = nil
    ) {
        self.epoch = epoch
        self.node = node
        self.address = address
        self.lease = lease
        self.isReleased = isReleased
        self.heir = heir
    }

    /// Whether the lease has run out.
    package var isExpired: Bool { lease <= .milliseconds(0) }
}
