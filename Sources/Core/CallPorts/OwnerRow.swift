public import CallCore

/// The record of who owns the calls.
public struct OwnerRow: Equatable, Sendable {
    /// The ownership; each claim raises it.
    public var epoch: OwnerEpoch
    /// The node that owns the calls or owned them last; `nil` = a server that is not one of several nodes, or none.
    public var node: NodeID?
    /// The address at which that node accepts links of other nodes: host and port, or empty.
    public var address: String
    /// The time until the lease runs out, by the database's clock; 0 or less = it has run out.
    public var lease: Moment.Duration
    /// Whether the owner has released the calls.
    public var isReleased: Bool
    /// The node to which the owner has released the calls; `nil` = any node.
    public var heir: NodeID?

    /// Creates a record of these parts.
    public init(
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
    public var isExpired: Bool { lease <= .milliseconds(0) }
}
