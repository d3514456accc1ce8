import CallCore
import CallPorts
import Cluster
import SeededRandom
import Switchboard

/// The database of several nodes: the owner's row with its epoch and its lease, and the transactions of the stores.
extension SimulatedWorld {
    private static let lease: Int64 = 3_000
    /// A store that has waited so long for a response reports a stall.
    private static let stall: Int64 = 3_000

    func reachesDatabase(_ node: SimulatedNode) -> Bool { !isDatabaseAway && !node.isCutFromDatabase }

    /// Sends a request to the database.
    func ask(_ request: DatabaseRequest, _ node: SimulatedNode, after delay: Int64? = nil) {
        after(delay ?? nodeDraws.within(1...6), .database(request, node.number, life: node.life))
    }

    func answer(_ request: DatabaseRequest, of number: Int, life: Int) {
        let node = simulatedNodes[number]
        guard node.life == life else { return }
        let isReached = reachesDatabase(node)
        switch request {
        case .read:
            guard isReached else { return after(1_000, node, .row(nil)) }
            var read = row
            read.lease = .milliseconds(row.isReleased ? 0 : leaseLeft)
            after(nodeDraws.within(1...4), node, .row(read))
        case .claim(let epoch, let known):
            guard isReached else { return after(1_000, node, .claimFailed) }
            claim(after: epoch, above: known, node)
        case .load(let epoch): load(epoch, node)
        case .commit(let number, let attempt):
            guard let store = store(number, of: node), store.attempt == attempt else { return }
            if isReached { commit(store, node) } else { store.isInDoubt = true }
        case .release(let number):
            guard let store = store(number, of: node), isReached else { return }
            releaseRow(store.epoch, to: store.release?.heir)
            after(nodeDraws.within(1...4), node, .closed(store: number))
        }
    }

    // MARK: The owner's row

    /// Raises the epoch, if no other claim has followed.
    private func claim(after epoch: OwnerEpoch, above known: OwnerEpoch, _ node: SimulatedNode) {
        guard row.epoch == epoch else { return after(nodeDraws.within(1...4), node, .claimLost) }
        raiseEpoch(above: known, for: node)
        ask(.load(row.epoch), node, after: nodeDraws.within(20...250))
        after(1, node, .loading)
    }

    private func raiseEpoch(above known: OwnerEpoch, for node: SimulatedNode) {
        row = OwnerRow(
            epoch: OwnerEpoch(rawValue: max(row.epoch, known).rawValue + 1),
            node: node.id,
            address: "\(node.number)",
            lease: .milliseconds(0)
        )
        leaseUntil = now + Self.lease
        log("\(node.name) claims the calls as \(row.epoch.rawValue)")
        // An owner that works notices it when it next renews its lease.
        for other in simulatedNodes where other !== node {
            guard let store = other.store else { continue }
            after(nodeDraws.within(0...1_000), other, .renews(store: store.number))
        }
        fenceOwner()
    }

    /// Reads the calls of a claim; now and then that fails, or the answer is lost.
    private func load(_ epoch: OwnerEpoch, _ node: SimulatedNode) {
        guard reachesDatabase(node), row.epoch == epoch, isHealed || nodeDraws.below(20) > 0 else {
            lastNodeFault = now
            return after(1_000, node, .claimFailed)
        }
        let claimed = SimulatedNode.Claimed(
            epoch: epoch,
            state: store.open(),
            calls: store.keptCalls,
            durability: checker.durability
        )
        let seen = simulatedNodes.filter { $0 !== node && ($0.isRunning || now - (seenNodes[$0.id] ?? 0) < 5_000) }
        after(nodeDraws.within(1...4), node, .claimed(claimed, others: Set(seen.map(\.id))))
    }

    func releaseRow(_ epoch: OwnerEpoch, to heir: NodeID?) {
        guard row.epoch == epoch else { return }
        row.isReleased = true
        row.heir = heir
        store.close()
    }

    /// The node whose store renews the lease at present.
    private var renewing: SimulatedNode? {
        simulatedNodes.first { node in
            node.store.map { $0.epoch == row.epoch && !$0.isDeposed } ?? false && !node.isFrozen
                && reachesDatabase(node)
        }
    }

    private var leaseLeft: Int64 {
        renewing == nil ? leaseUntil - now : Self.lease - nodeDraws.within(0...1_000)
    }

    /// Notes until when the lease lasts whose owner is about to lose the database.
    func loseLease(of node: SimulatedNode) {
        if renewing === node { leaseUntil = now + Self.lease - nodeDraws.within(0...1_000) }
    }

    // MARK: Stores

    func store(_ number: Int, of node: SimulatedNode) -> NodeStore? {
        node.store.flatMap { $0.number == number ? $0 : nil }
    }

    /// Begins a transaction with everything that is queued.
    func pump(_ store: NodeStore, _ node: SimulatedNode) {
        guard store.underWay == 0, !store.isDeposed, !node.isFrozen, reachesDatabase(node) else { return }
        guard !store.queue.isEmpty else {
            if store.release != nil { ask(.release(store: store.number), node) }
            return
        }
        store.underWay = store.queue.count
        store.attempt += 1
        var duration = nodeDraws.within(1...8)
        if faults.contains(.store), !isHealed, nodeDraws.percent(4) { duration = nodeDraws.within(50...900) }
        ask(.commit(store: store.number, attempt: store.attempt), node, after: duration)
    }

    /// Carries out a transaction of a store: it checks the epoch, and makes the changes durable.
    func commit(_ store: NodeStore, _ node: SimulatedNode) {
        guard row.epoch == store.epoch else {
            return after(nodeDraws.within(1...4), node, .refused(store: store.number))
        }
        for item in store.queue.prefix(store.underWay) {
            guard case .commit(let changes, let ticket) = item else { continue }
            guard ticket > store.durable else { continue }
            self.store.apply(changes)
            store.durable = ticket
        }
        if node === owner { checker.durable(upTo: store.durable) }
        leaseUntil = now + Self.lease
        after(nodeDraws.within(1...4), node, .committed(store: store.number, attempt: store.attempt))
    }

    func transactionCommitted(_ attempt: Int, _ store: NodeStore, _ node: SimulatedNode) {
        guard store.attempt == attempt, !store.isInDoubt else { return }
        guard reachesDatabase(node) else {
            store.isInDoubt = true
            return
        }
        confirm(store, node)
    }

    /// Reports what is durable, and begins the next transaction.
    private func confirm(_ store: NodeStore, _ node: SimulatedNode) {
        store.underWay = 0
        store.isInDoubt = false
        if store.isStalled {
            store.isStalled = false
            report(.recovered, of: store, to: node)
        }
        var newest: Ticket?
        var queries: [(StoreQueryID, StoreQuery)] = []
        while let first = store.queue.first {
            switch first {
            case .commit(_, let ticket):
                guard ticket <= store.durable else { break }
                newest = ticket
                store.queue.removeFirst()
                continue
            case .query(let query, let id):
                queries.append((id, query))
                store.queue.removeFirst()
                continue
            }
            break
        }
        if let newest { report(.committed(upTo: newest), of: store, to: node) }
        for (id, query) in queries {
            var result = ModelStore.notSimulated
            if let answer = self.store.answer(query) {
                let fails = faults.contains(.store) && !isHealed && nodeDraws.percent(3)
                result = fails ? .failed(StoreFailure("cannot be read")) : answer
            }
            after(nodeDraws.within(1...20), node, .report(store: store.number, .queryResult(id, result)))
        }
        if node.store === store { pump(store, node) }
    }

    /// Connects again after the database was out of reach, or renews the lease.
    func renew(_ store: NodeStore, _ node: SimulatedNode) {
        guard reachesDatabase(node), !store.isDeposed else { return }
        guard row.epoch == store.epoch else { return refused(store, node) }
        leaseUntil = now + Self.lease
        if node === owner, storeIsStalled {
            storeIsStalled = false
            storeRecoveredAt = now
        }
        guard store.isInDoubt || store.isStalled || store.underWay == 0 else { return }
        // After a lost connection the store reads which of its commits are durable, and sends the others again.
        store.attempt += 1
        confirm(store, node)
    }

    func refused(_ store: NodeStore, _ node: SimulatedNode) {
        guard !store.isDeposed else { return }
        store.isDeposed = true
        report(.deposed(StoreFailure("another server owns the calls")), of: store, to: node)
        if store.release != nil { after(1, node, .closed(store: store.number)) }
    }

    func stall(_ store: NodeStore, _ node: SimulatedNode) {
        guard !store.isStalled, !store.isDeposed, !reachesDatabase(node) else { return }
        store.isStalled = true
        let failure = StoreFailure("the database cannot be reached")
        report(.stalled(failure), of: store, to: node)
        let queries = store.queue.compactMap { if case .query(_, let id) = $0 { id } else { nil } }
        store.queue.removeAll { if case .query = $0 { true } else { false } }
        if store.underWay > 0 { store.isInDoubt = true }
        for id in queries { report(.queryResult(id, .failed(failure)), of: store, to: node) }
    }

    /// Notes that the database got out of reach of a node, or can be reached again.
    ///
    /// `isSilent`: nothing answers; otherwise connections are refused.
    func databaseChanged(for node: SimulatedNode, isSilent: Bool) {
        node.databaseChanges += 1
        lastNodeFault = now
        guard node.isRunning, let store = node.store else { return }
        if reachesDatabase(node) {
            after(nodeDraws.within(10...500), node, .renews(store: store.number))
        } else {
            if node === owner { storeIsStalled = true }
            let wait = nodeDraws.within(0...1_000) + (isSilent ? Self.stall : nodeDraws.within(1...60))
            after(wait, node, .stalls(store: store.number, change: node.databaseChanges))
        }
    }

    // MARK: Reports

    private func report(_ report: StoreReport, of store: NodeStore, to node: SimulatedNode) {
        passToNode(.report(store: store.number, report), at: node.number, life: node.life)
    }

    /// Handles a report of the store: first the switchboard, then the node.
    func passReport(_ report: StoreReport, to node: SimulatedNode) {
        guard node === owner || node.deposed != nil else { return }
        if case .committed = report { node.deposed?.isConfirming = true }
        decide(.stored(report), at: node)
        node.deposed?.isConfirming = false
        pass(.stored(report), to: node)
    }
}
