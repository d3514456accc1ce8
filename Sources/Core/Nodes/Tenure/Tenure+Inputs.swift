package import CallPorts

extension Tenure {
    /// The inputs of a tenure.
    package enum Input: Equatable, Sendable {
        /// The node has started, and listens for links.
        case started
        /// The moment that ``Tenure/deadline`` named has come.
        case deadlineReached
        /// The process terminates: release the calls to another node, or end at once if the node owns none.
        case terminate

        // From the database.
        /// The owner's row was read.
        indirect case rowRead(OwnerRow)
        /// The database could not be reached.
        case rowUnreadable
        /// The claim is durable, and the calls are being read.
        case loading
        /// The claim has succeeded; the node owns the calls in this ownership, and has read them. `others` = the nodes
        /// that were seen in the last 5 s.
        case claimed(OwnerEpoch, others: Set<NodeID>)
        /// The claim found another ownership in the row.
        case claimLost
        /// The claim failed, and may have been carried out or not.
        case claimFailed
        /// A commit of this ownership was refused: the row has a newer one.
        case commitRefused(OwnerEpoch)
        /// The store of this ownership has stalled (`true`), or works again.
        case storeStalled(OwnerEpoch, Bool)
        /// All is committed, and the row is released.
        case released(OwnerEpoch)

        // From the link to the owner.
        /// The link is open; the other node has proved itself, and owns the calls in this ownership.
        case linkOpened(OwnerEpoch)
        /// The owner's process is gone: the system refuses connections to its address, or another run of the node
        /// answers there.
        case linkRefused
        /// The link could not be opened for another reason.
        case linkFailed
        /// The link has ended.
        case linkLost(LinkEnd)
        /// The owner reports that its store has stalled (`true`), or works again.
        case ownerStalled(Bool)
        /// The owner says that it has released the calls to a node, or to any node.
        case ownerReleased(heir: NodeID?)

        // From the links of other nodes.
        /// A node has attached: it has brought all its sockets.
        case nodeAttached(NodeID)
        /// A node's link has ended.
        case nodeDetached(NodeID)
        /// A node that has proved itself knows this ownership.
        case heardOf(OwnerEpoch)
    }

    /// The ways in which a link ends.
    package enum LinkEnd: Equatable, Sendable {
        /// The other side closed it, or its process has ended.
        case closed
        /// Nothing has arrived for ``NodeLimits/linkSilence``, or the link ended for a reason that says nothing about
        /// the owner's process: a fault, a refusal.
        case silent
    }

    /// The effects of a tenure, which the node carries out in order.
    package enum Effect: Equatable, Sendable {
        /// Read the owner's row; ``Input/rowRead(_:)`` or ``Input/rowUnreadable`` follows.
        case readRow
        /// Raise the ownership in the row, if it is still `after`, to more than both `after` and `above`, and read the
        /// calls; ``Input/claimed(_:others:)``, ``Input/claimLost`` or ``Input/claimFailed`` follows, once.
        ///
        /// `above` is the newest ownership that the node knows. The row is below it if the database has lost claims.
        case claim(after: OwnerEpoch, above: OwnerEpoch)
        /// Take over the store, and let the other nodes attach.
        case gather(OwnerEpoch)
        /// Take events, and decide.
        case serve(OwnerEpoch)
        /// Take no more events, commit all changes, then release the row; ``Input/released(_:)`` follows.
        ///
        /// If this follows at once on a claim, its store was never used: the claim is no longer wanted.
        case release(OwnerEpoch, heir: NodeID?)
        /// Drop the calls, which this node owns no longer, and end the links of all nodes.
        case drop(OwnerEpoch)
        /// Connect to the owner; ``Input/linkOpened(_:)``, ``Input/linkRefused`` or ``Input/linkFailed`` follows.
        case connect(NodeID, address: String)
        /// Bring this node's sockets to the owner, and then its events.
        case attach(OwnerEpoch)
        /// End the link, or the attempt to open it; no report about it follows. The sockets are detached.
        case disconnect
        /// Tell the owner at the other end of the link, if it is open, that this newer ownership exists.
        case depose(by: OwnerEpoch)
        /// Tell all attached nodes that the store has stalled (`true`), or works again.
        case announceStall(Bool)
        /// Tell all attached nodes to whom the calls were released.
        case announceRelease(heir: NodeID?)
    }
}
