import CallCore
import CallPorts
import Nodes
import SeededRandom
import Switchboard

/// The stores of the nodes and their database, and loops that go on after they have waited.
extension NodesServer {
    // MARK: The database

    func answer(_ request: DatabaseRequest, of number: Int, life: Int) {
        let node = nodes[number]
        guard node.life == life else { return }
        let isReached = database.isReached(from: node)
        switch request {
        case .read:
            guard isReached else { return after(1_000, node, .row(nil)) }
            let read = database.read()
            after(draws.nodes.within(1...4), node, .row(read))
        case .claim(let epoch, let known):
            guard isReached else { return after(1_000, node, .claimFailed) }
            claim(after: epoch, above: known, node)
        case .load(let epoch): load(epoch, node)
        case .commit(let number, let attempt):
            guard let store = node.store(number), store.attempt == attempt else { return }
            if isReached { commit(store, node) } else { store.isInDoubt = true }
        case .release(let number):
            guard let store = node.store(number), isReached else { return }
            database.releaseRow(store.epoch, to: store.release?.heir)
            after(draws.nodes.within(1...4), node, .closed(store: number))
        }
    }

    /// Raises the epoch, if no other claim has followed.
    private func claim(after epoch: OwnerEpoch, above known: OwnerEpoch, _ node: SimulatedNode) {
        guard database.row.epoch == epoch else { return after(draws.nodes.within(1...4), node, .claimLost) }
        database.raiseEpoch(above: known, for: node)
        fenceOwner()
        database.ask(.load(database.row.epoch), node, after: draws.nodes.within(20...250))
        after(1, node, .loading)
    }

    private func load(_ epoch: OwnerEpoch, _ node: SimulatedNode) {
        guard let claimed = database.load(epoch, node) else {
            lastFault = now
            return after(1_000, node, .claimFailed)
        }
        let seen = nodes.filter { $0 !== node && ($0.isRunning || now - (seenNodes[$0.id] ?? 0) < 5_000) }
        after(draws.nodes.within(1...4), node, .claimed(claimed, others: Set(seen.map(\.id))))
    }

    // MARK: Stores

    /// Carries out a transaction of a store: it checks the epoch, and makes the changes durable.
    func commit(_ store: NodeStore, _ node: SimulatedNode) {
        guard database.commit(store) else {
            return after(draws.nodes.within(1...4), node, .refused(store: store.number))
        }
        if node === owner { checker.durable(upTo: store.durable) }
        database.renewLease()
        after(draws.nodes.within(1...4), node, .committed(store: store.number, attempt: store.attempt))
    }

    func transactionCommitted(_ attempt: Int, _ store: NodeStore, _ node: SimulatedNode) {
        guard store.attempt == attempt, !store.isInDoubt else { return }
        guard database.isReached(from: node) else {
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
        let (newest, queries) = store.takeDurable()
        if let newest { report(.committed(upTo: newest), of: store, to: node) }
        for (id, query) in queries {
            let result = database.answer(query)
            after(draws.nodes.within(1...20), node, .report(store: store.number, .queryResult(id, result)))
        }
        if node.store === store { database.pump(store, node) }
    }

    /// Connects again after the database was out of reach, or renews the lease.
    func renew(_ store: NodeStore, _ node: SimulatedNode) {
        guard database.isReached(from: node), !store.isDeposed else { return }
        guard database.row.epoch == store.epoch else { return refused(store, node) }
        database.renewLease()
        if node === owner, turns.isStoreStalled {
            turns.storeRecovered()
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
        guard !store.isStalled, !store.isDeposed, !database.isReached(from: node) else { return }
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
        lastFault = now
        guard node.isRunning, let store = node.store else { return }
        if database.isReached(from: node) {
            after(draws.nodes.within(10...500), node, .renews(store: store.number))
        } else {
            if node === owner { turns.isStoreStalled = true }
            // A store that has waited so long for a response reports a stall.
            let wait = draws.nodes.within(0...1_000) + (isSilent ? 3_000 : draws.nodes.within(1...60))
            after(wait, node, .stalls(store: store.number, change: node.databaseChanges))
        }
    }

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

    /// Lets the loop of a node go on after its store was closed; the store's last reports come first.
    func storeClosed(_ store: NodeStore, _ node: SimulatedNode) {
        guard node.isReleasing, !node.isFrozen else { return }
        node.isReleasing = false
        func isReport(_ event: NodeEvent) -> Bool { if case .report = event { true } else { false } }
        let reports = node.held.filter(isReport)
        node.held = reports + [.released(store.epoch)] + node.held.filter { !isReport($0) }
        goOn(node)
    }

    // MARK: Standing still and going on

    /// Lets a process go on that was stopped.
    func thaw(_ node: SimulatedNode) {
        guard node.isRunning, node.isFrozen else { return }
        node.isFrozen = false
        var held: [NodeEvent] = []
        swap(&held, &node.held)
        // The store has a thread of its own, and learns from the database only later that the owner was deposed.
        for event in held where event.isOfStore {
            var delay = draws.nodes.within(0...5)
            if case .renews = event { delay = draws.nodes.within(1...1_000) }
            after(delay, node, event)
        }
        held.removeAll(where: \.isOfStore)
        if let store = node.store { after(draws.nodes.within(1...400), node, .renews(store: store.number)) }
        node.held = held
        if !node.isReleasing { goOn(node) }
    }

    /// Lets a loop go on: what has arrived is read before overdue deadlines count.
    private func goOn(_ node: SimulatedNode) {
        guard node.isRunning, !node.isStopped else { return }
        let life = node.life
        if node === owner {
            checker.serverSince = now
            if node.isServing { if draws.nodes.percent(50) { turns.serve(.deadlineReached) } else { turns.flush() } }
        } else if node.deposed != nil {
            decide(.deadlineReached, at: node)
        }
        var held: [NodeEvent] = []
        swap(&held, &node.held)
        for (place, event) in held.enumerated() {
            guard node.life == life else {
                lose(event)
                continue
            }
            // A release that an event has begun stops the loop again.
            guard !node.isStopped else {
                node.held += held[place...]
                return
            }
            if case .timer = event { continue }
            handleEvent(event, at: node)
        }
        guard node.life == life, node.isRunning else { return }
        node.timerAt = now + 10
        node.timer += 1
        after(10, node, .timer(node.timer))
        confirmEvents(at: node)
        if node === owner, node.isServing { after(1, node, .ownerTimer) }
    }
}
