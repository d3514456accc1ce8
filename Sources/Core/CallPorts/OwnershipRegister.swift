/// The port to the database's record of who owns the calls, for a server that is one node of several.
///
/// All nodes use one database. One of them at a time owns the calls: it has the only switchboard and is the only one
/// that commits. The record says who that is, and is changed by a claim and by a release. This port never decides
/// anything: `Nodes.Tenure` decides when a node claims.
///
/// Only ``open()`` and ``close()`` block the caller; the results of all others are reported.
package protocol OwnershipRegister: AnyObject, Sendable {
    /// Connects to the database, brings its tables to this version, and enters this node into the list of nodes.
    ///
    /// Called once, before everything else. The list is kept up to date until ``close()``.
    /// - Returns: The secret that all nodes of the database share: 32 random bytes, made by the first node.
    /// - Throws: ``StoreFailure`` in one sentence that an operator understands.
    func open() throws(StoreFailure) -> [UInt8]

    /// Reads the record; ``OwnershipReport/row(_:)`` or ``OwnershipReport/unreadable(_:)`` follows.
    func read()

    /// Claims the calls if `epoch` is still the newest ownership; ``OwnershipReport/claimed(_:)``,
    /// ``OwnershipReport/claimLost`` or ``OwnershipReport/claimFailed(_:)`` follows, and before it
    /// ``OwnershipReport/loading`` once the claim is durable.
    ///
    /// The new ownership has a higher number than both `epoch` and `known`, the newest one that the node knows. `known` is
    /// higher than `epoch` if the database has lost claims.
    func claim(after epoch: OwnerEpoch, above known: OwnerEpoch)

    /// Closes the store of a claim that the node does not use, and releases the calls to a node, the heir; `nil` = to
    /// any node.
    ///
    /// A claim that is requested later waits for it. `done` is called when the store is closed, on any thread.
    func giveBack(_ store: any ReleasableStore, to heir: NodeID?, done: @escaping @Sendable () -> Void)

    /// Removes this node from the list of nodes, and closes the connection, after all stores that were given back.
    func close()
}

/// A report of an ownership register to the event loop.
///
/// The register passes it, on any thread, to the closure that the register was created with.
package enum OwnershipReport: Sendable {
    /// The record, as it was read.
    indirect case row(OwnerRow)
    /// The record could not be read.
    case unreadable(StoreFailure)
    /// The claim is durable, and the calls are being read.
    case loading
    /// The claim has succeeded and is durable, and the calls were read.
    indirect case claimed(ClaimedStore)
    /// Another node has claimed first.
    case claimLost
    /// The claim has failed, and may have been carried out or not.
    case claimFailed(StoreFailure)
}

/// The store of a node that has claimed the calls, already open.
package struct ClaimedStore: Sendable {
    /// The ownership that the claim began.
    package let epoch: OwnerEpoch
    /// The store; it is released with ``ReleasableStore/close(releasingTo:)``.
    package let store: any ReleasableStore
    /// The data that the store contained after the claim.
    package let state: StoredState
    /// The other nodes that were in the list of nodes and were seen in the last 5 s.
    package let others: Set<NodeID>

    /// Creates a claimed store of these parts.
    package init(epoch: OwnerEpoch, store: any ReleasableStore, state: StoredState, others: Set<NodeID>) {
        self.epoch = epoch
        self.store = store
        self.state = state
        self.others = others
    }
}

/// A store that another node can take over.
package protocol ReleasableStore: CallStore {
    /// Commits all queued changes and releases the calls to a node, the heir; `nil` = to any node.
    ///
    /// Blocks the caller, as ``CallStore/close()`` does.
    func close(releasingTo heir: NodeID?)
}
