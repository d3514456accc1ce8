import CallPorts
import Threads

/// The nodes of a case, each with a register of the same database.
final class CompetingNodes {
    /// The end of a claim.
    enum Outcome: Equatable {
        case claimed
        case lost
        case failed(StoreFailure)
    }

    /// A node, of which a case needs only the register and the store that a claim opened.
    final class Node {
        let id: NodeID
        let storeReports = StoreReports()
        /// The reports of the register that the case has not taken yet.
        private let reports = Monitor<[OwnershipReport]>([])
        private var register: (any OwnershipRegister)?
        /// The last claim that has succeeded.
        private(set) var claimed: ClaimedStore?
        private var current: CompetingServers.Server?

        fileprivate init(id: NodeID, storage: any RegisterContract.Storage) {
            self.id = id
            let (reports, storeReports) = (reports, storeReports)
            register = storage.makeRegister(
                node: id,
                storeReport: { storeReports.add($0) },
                report: { report in
                    if case .loading = report { return }
                    reports.withLock { $0.append(report) }
                }
            )
        }

        /// Opens the register, and returns the secret of the nodes.
        @discardableResult
        func open() throws -> [UInt8] { try required().open() }

        /// Returns the register, if the node was not killed.
        fileprivate func required() throws -> any OwnershipRegister {
            guard let register else { throw StoreContract.Violation(description: "\(id.text) was killed") }
            return register
        }

        /// Waits for the next report, for at most 20 seconds.
        private func next() throws -> OwnershipReport {
            let next = reports.wait(until: .now + .seconds(20)) { $0.isEmpty ? nil : $0.removeFirst() }
            guard let next else { throw StoreContract.Violation(description: "no report from \(id.text)") }
            return next
        }

        /// Whether there is a report that the case has not taken.
        var hasReport: Bool { reports.withLock { !$0.isEmpty } }

        func requestReading() { register?.read() }

        /// Waits for the result of a reading.
        func nextRow() throws -> OwnerRow {
            guard case .row(let row) = try next() else {
                throw StoreContract.Violation(description: "\(id.text) cannot read the record")
            }
            return row
        }

        /// Reads the record.
        func row() throws -> OwnerRow {
            requestReading()
            return try nextRow()
        }

        /// Returns whether the record can be read.
        func isReadable() throws -> Bool {
            requestReading()
            switch try next() {
            case .row: return true
            case .unreadable: return false
            case .loading, .claimed, .claimLost, .claimFailed:
                throw StoreContract.Violation(description: "\(id.text) has reported a claim")
            }
        }

        /// Requests a claim; `known` is the newest ownership that the node knows, `nil` = `epoch`.
        func requestClaim(after epoch: UInt64, above known: UInt64? = nil) {
            register?.claim(after: OwnerEpoch(rawValue: epoch), above: OwnerEpoch(rawValue: known ?? epoch))
        }

        /// Waits for the end of a claim.
        func outcome() throws -> Outcome {
            switch try next() {
            case .claimed(let claimed):
                self.claimed = claimed
                let machine = id.text.prefix { $0 != "-" }
                current = CompetingServers.Server(node: String(machine), reports: storeReports, store: claimed.store)
                return .claimed
            case .claimLost: return .lost
            case .claimFailed(let failure): return .failed(failure)
            case .row, .unreadable, .loading:
                throw StoreContract.Violation(description: "\(id.text) has reported the record")
            }
        }

        /// Claims the calls.
        func claim(after epoch: UInt64, above known: UInt64? = nil) throws -> Outcome {
            requestClaim(after: epoch, above: known)
            return try outcome()
        }

        /// The server with the store that the last claim has opened.
        func server() throws -> CompetingServers.Server {
            guard let current else { throw StoreContract.Violation(description: "\(id.text) has no store") }
            return current
        }

        /// Releases the calls to a node; `nil` = to any node.
        func release(to heir: NodeID? = nil) {
            claimed?.store.close(releasingTo: heir)
            current = nil
        }

        /// Closes the register cleanly.
        func close() { register?.close() }

        /// Drops the store and the register without closing them, as a crash does.
        func crash() {
            claimed = nil
            current = nil
            register = nil
        }
    }

    let storage: any RegisterContract.Storage
    private var nodes: [Node] = []

    init(storage: any RegisterContract.Storage) { self.storage = storage }

    /// Returns a new node, whose register is not open yet.
    func node(_ id: String) throws -> Node {
        guard let id = NodeID(id) else { throw StoreContract.Violation(description: "\(id) is no node's id") }
        let node = Node(id: id, storage: storage)
        nodes.append(node)
        return node
    }

    /// Returns a new node, whose register is open.
    func opened(_ id: String) throws -> Node {
        let node = try node(id)
        try node.open()
        return node
    }

    /// Opens the registers of several new nodes at the same time, each on a thread of its own.
    /// - Returns: The secrets that they return.
    func openAtOnce(_ ids: [String]) throws -> [[UInt8]] {
        let secrets = Monitor<[Result<[UInt8], any Error>]>([])
        let threads = try ids.map { id in
            let register = try node(id).required()
            return try WorkThread(named: "opening \(id)") {
                let secret = Result { try register.open() }
                secrets.withLock { $0.append(secret) }
            }
        }
        for thread in threads { thread.join() }
        return try secrets.withLock { try $0.map { try $0.get() } }
    }

    /// Blocks the thread for a time.
    func sleep(milliseconds: Int64) {
        // The condition is never met, so the wait lasts until the deadline.
        _ = Monitor(()).wait(until: .now + .milliseconds(milliseconds)) { _ in nil as Bool? }
    }

    /// Ends all faults, and closes the stores and registers that are still open.
    func closeIfOpen() {
        for node in nodes {
            // A fault that goes on would delay the closing. If a fault cannot be ended, the closing takes longer.
            try? storage.cause(.none, at: String(node.id.text.prefix { $0 != "-" }))
            node.release()
            node.close()
            node.crash()
        }
    }
}
