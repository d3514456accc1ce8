package import CallPorts
import Storing

/// A node's view of a PostgreSQL database that several nodes use: who owns the calls, and which nodes run.
///
/// One thread with a connection of its own reads the row `owner`, and says every second that this node runs. A second
/// thread claims the calls, with a ``PostgresCallStore``, so that a claim that waits for the database delays no reading.
/// Decision 0017 describes how an ownership is claimed and fenced.
package final class PostgresOwnershipRegister: OwnershipRegister {
    private let register: RegisterThreads

    /// Creates a register of a database.
    ///
    /// The register does not connect before ``open()``.
    /// - Parameters:
    ///   - options: The database, and how the stores of successful claims use it.
    ///   - node: The id of this run of the node.
    ///   - address: The address at which the node accepts links of other nodes: host and port.
    ///   - version: The version of this ringline, which the list of nodes shows to operators.
    ///   - settings: Returns digests of this node's settings, one `name digest` per line, from the nodes' secret; the
    ///     list shows them, so that operators can compare the nodes.
    ///   - storeReport: Called with the reports of the stores that claims open; see
    ///     ``PostgresCallStore/init(_:report:)``.
    ///   - report: Called with the reports of the register, on its threads. `report` must not wait for the register,
    ///     but it may release it.
    package init(
        _ options: StoreOptions,
        node: NodeID,
        address: String,
        version: String,
        settings: @escaping @Sendable (_ secret: [UInt8]) -> String = { _ in "" },
        storeReport: @escaping @Sendable (StoreReport) -> Void,
        report: @escaping @Sendable (OwnershipReport) -> Void
    ) {
        let entry = NodeList.Entry(
            id: node,
            machine: options.machine,
            address: address,
            version: version,
            settings: settings
        )
        register = RegisterThreads(options, entry, storeReport: storeReport, report: report)
    }

    /// Closes the connection, and leaves this node in the list, in which it is soon no longer seen.
    deinit { register.end(.abandoned) }

    /// Connects and enters this node into the list of nodes; see `OwnershipRegister.open()`.
    ///
    /// While the database cannot be reached, this waits until `OwnerWait.isOver` of ``StoreOptions/ownerWait`` ends
    /// the wait, and says so once through `OwnerWait.onDelay`. If the tables are older than this version, it migrates
    /// them.
    package func open() throws(StoreFailure) -> [UInt8] { try register.start() }

    /// Reads the record of who owns the calls; see `OwnershipRegister.read()`.
    ///
    /// The result comes within about a second, or within the time that an attempt to connect takes (`connect_timeout`,
    /// by default 3 s for each host).
    package func read() { register.read() }

    /// Claims the calls; see `OwnershipRegister.claim(after:above:)`.
    ///
    /// The lease is not considered, and the connection of an owner that is frozen in a transaction is closed. A claim
    /// that follows another one waits until that one has ended. While a claim waits for a standby, it has no limit.
    package func claim(after epoch: OwnerEpoch, above known: OwnerEpoch) { register.claim(after: epoch, above: known) }

    /// Closes the store of a claim that the node does not use; see `OwnershipRegister.giveBack(_:to:done:)`.
    ///
    /// If the database does not respond, this takes as long as the closing of a stalled store.
    package func giveBack(_ store: any ReleasableStore, to heir: NodeID?, done: @escaping @Sendable () -> Void) {
        register.giveBack(store, to: heir, done: done)
    }

    /// Removes this node from the list of nodes, and closes the connection.
    ///
    /// A claim that is under way is released if it succeeds, and not reported.
    package func close() { register.end(.closing) }
}
