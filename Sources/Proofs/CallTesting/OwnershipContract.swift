package import CallPorts

/// The requirements on a `CallStore` whose database several servers can reach, of which one at a time owns it.
///
/// Such a store must meet `StoreContract` as well.
package enum OwnershipContract {
    /// A database, empty at first, in front of which faults can be caused; each case gets a new one.
    ///
    /// The lease is so short that a case can wait for its end.
    package protocol Storage: AnyObject {
        /// How long the lease lasts after the owner's last transaction, in milliseconds.
        var leaseMilliseconds: Int64 { get }

        /// Returns a store for a server on the machine `node`, not opened yet.
        ///
        /// Its `open` must throw as soon as another owner is seen to renew its lease. Faults concern one machine.
        func makeStore(node: String, report: @escaping @Sendable (StoreReport) -> Void) -> any CallStore

        /// Causes a fault between a machine and the database; ``Fault/none`` ends it.
        func cause(_ fault: Fault, at node: String) throws

        /// Deletes the commits after a ticket from the database, and closes the owner's connection, as if a standby
        /// without these commits had taken over.
        func forget(after ticket: UInt64) throws
    }

    /// A fault between a server and the database.
    package enum Fault: Sendable {
        /// No fault.
        case none
        /// Nothing gets through in either direction, and no connection is closed.
        case silence
        /// The beginning of the next large transaction gets through, and nothing that the server sends after it, so
        /// that the transaction stays open.
        case freezeWithinCommit
        /// The connection is cut before the next commit reaches the database; then the fault ends.
        case cutBeforeCommit
        /// The connection is cut after the next commit was carried out, before its confirmation; then the fault ends.
        case cutBeforeConfirmation
    }

    /// One requirement.
    package struct Case: Sendable, CustomStringConvertible {
        /// The requirement, for example "commits that the database has lost are sent again, once each".
        package let description: String
        private let body: @Sendable (CompetingServers) throws -> Void

        init(_ description: String, _ body: @escaping @Sendable (CompetingServers) throws -> Void) {
            self.description = description
            self.body = body
        }

        /// Runs the case.
        /// - Throws: `StoreContract.Violation`, or the failure of a store.
        package func run(at storage: any Storage) throws {
            let servers = CompetingServers(storage: storage)
            defer { servers.closeIfOpen() }
            try body(servers)
        }
    }

    /// All cases.
    package static let cases: [Case] = claiming + recovering
}
