import CallCore
import CallPorts
import Nodes
import SeededRandom

/// The database of several nodes: the owner's row with its epoch and its lease, and the transactions of the stores.
final class NodeDatabase: Part {
    private let nodes: [SimulatedNode]
    private let backend: Backend?
    private var disk = Disk()
    /// The owner's row, without its lease.
    private(set) var row = OwnerRow(epoch: .none, node: nil, address: "", lease: .milliseconds(0))
    /// Until when the lease lasts while nobody renews it.
    private var leaseUntil: Int64 = 0
    /// Whether no node can reach the database.
    var isAway = false

    init(_ course: Course, of nodes: [SimulatedNode], _ backend: Backend?) {
        self.nodes = nodes
        self.backend = backend
        super.init(course)
    }

    private static let lease: Int64 = 3_000

    func isReached(from node: SimulatedNode) -> Bool { !isAway && !node.isCutFromDatabase }

    /// Sends a request to the database.
    func ask(_ request: DatabaseRequest, _ node: SimulatedNode, after delay: Int64? = nil) {
        after(delay ?? draws.nodes.within(1...6), .database(request, node.number, life: node.life))
    }

    /// Reads the owner's row.
    func read() -> OwnerRow {
        var read = row
        read.lease = .milliseconds(row.isReleased ? 0 : leaseLeft)
        return read
    }

    // MARK: The owner's row

    func raiseEpoch(above known: OwnerEpoch, for node: SimulatedNode) {
        row = OwnerRow(
            epoch: OwnerEpoch(rawValue: max(row.epoch, known).rawValue + 1),
            node: node.id,
            address: "\(node.number)",
            lease: .milliseconds(0)
        )
        leaseUntil = now + Self.lease
        log("\(node.name) claims the calls as \(row.epoch.rawValue)")
        // An owner that works notices it when it next renews its lease.
        for other in nodes where other !== node {
            guard let store = other.store else { continue }
            after(draws.nodes.within(0...1_000), .node(other.number, life: other.life, .renews(store: store.number)))
        }
    }

    /// Reads the calls of a claim; `nil` when the database is out of reach, when a newer claim exists, and now and then
    /// because the answer is lost.
    func load(_ epoch: OwnerEpoch, _ node: SimulatedNode) -> SimulatedNode.Claimed? {
        guard isReached(from: node), row.epoch == epoch, isHealed || draws.nodes.below(20) > 0 else { return nil }
        return SimulatedNode.Claimed(
            epoch: epoch,
            state: disk.open(),
            calls: disk.calls,
            durability: checker.durability
        )
    }

    func releaseRow(_ epoch: OwnerEpoch, to heir: NodeID?) {
        guard row.epoch == epoch else { return }
        row.isReleased = true
        row.heir = heir
        disk.close()
    }

    /// The node whose store renews the lease at present.
    private var renewing: SimulatedNode? {
        nodes.first { node in
            node.store.map { $0.epoch == row.epoch && !$0.isDeposed } ?? false && !node.isFrozen
                && isReached(from: node)
        }
    }

    private var leaseLeft: Int64 {
        renewing == nil ? leaseUntil - now : Self.lease - draws.nodes.within(0...1_000)
    }

    /// Notes until when the lease lasts whose owner is about to lose the database.
    func loseLease(of node: SimulatedNode) {
        if renewing === node { leaseUntil = now + Self.lease - draws.nodes.within(0...1_000) }
    }

    func renewLease() { leaseUntil = now + Self.lease }

    // MARK: Transactions

    /// Begins a transaction with everything that is queued.
    func pump(_ store: NodeStore, _ node: SimulatedNode) {
        guard store.underWay == 0, !store.isDeposed, !node.isFrozen, isReached(from: node) else { return }
        guard !store.queue.isEmpty else {
            if store.release != nil { ask(.release(store: store.number), node) }
            return
        }
        store.underWay = store.queue.count
        store.attempt += 1
        var duration = draws.nodes.within(1...8)
        if faults.contains(.store), !isHealed, draws.nodes.percent(4) { duration = draws.nodes.within(50...900) }
        ask(.commit(store: store.number, attempt: store.attempt), node, after: duration)
    }

    /// Makes what a transaction holds durable; returns `false` if the epoch has been raised since.
    func commit(_ store: NodeStore) -> Bool {
        guard row.epoch == store.epoch else { return false }
        for item in store.queue.prefix(store.underWay) {
            guard case .commit(let changes, let ticket) = item else { continue }
            guard ticket > store.durable else { continue }
            disk.apply(changes)
            backend?.durable([changes])
            store.durable = ticket
        }
        return true
    }

    /// Returns the result of a query.
    func answer(_ query: StoreQuery) -> StoreResult {
        guard let answer = disk.answer(query) else { return Disk.notSimulated }
        let fails = faults.contains(.store) && !isHealed && draws.nodes.percent(3)
        return fails ? .failed(StoreFailure("cannot be read")) : answer
    }
}
