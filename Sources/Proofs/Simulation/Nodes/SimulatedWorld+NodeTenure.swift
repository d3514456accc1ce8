import CallCore
import CallPorts
import Cluster
import Switchboard

/// Carries out what a node's tenure decides, as `Gateway` does.
extension SimulatedWorld {
    func passToTenure(_ input: Tenure.Input, at node: SimulatedNode) {
        var effects: [Tenure.Effect] = []
        let before = node.tenure.state
        node.tenure.handle(input, at: moment(of: node), into: &effects)
        node.newestKnown = max(node.newestKnown, node.tenure.newestEpoch)
        if node.tenure.state != before { log("\(node.name): \(node.tenure.state)") }
        let life = node.life
        for effect in effects where node.life == life { performTenureEffect(effect, at: node) }
    }

    private func performTenureEffect(_ effect: Tenure.Effect, at node: SimulatedNode) {
        switch effect {
        case .readRow: ask(.read, node)
        case .claim(let epoch, let known):
            if node.isEnding {
                passToTenure(.claimFailed, at: node)
            } else {
                ask(.claim(after: epoch, above: known), node)
            }
        case .gather: becomeOwner(node)
        case .serve: beginServing(node)
        case .release(let epoch, let heir): releaseCalls(epoch, heir: heir, node)
        case .drop: drop(node)
        case .connect(let owner, let address): connect(node, to: owner, at: address)
        case .attach(let epoch): passToAttachment(.attached(epoch), at: node)
        case .disconnect: disconnect(node)
        case .depose(let epoch):
            if let link = node.ownerLink, link.ends[NodeLink.client].isOpen {
                send(.deposed(by: epoch), over: link, from: 0)
            }
        case .announceStall(let isStalled):
            for edge in edges(of: node) { send(.storeStalled(isStalled), over: edge.link, from: 1) }
        case .announceRelease(let heir):
            confirmEvents(at: node)
            for edge in edges(of: node) {
                send(.released(heir: heir), over: edge.link, from: 1)
                endLink(edge.link, at: NodeLink.server)
            }
            node.edges = [:]
        }
    }

    func edges(of node: SimulatedNode) -> [SimulatedEdge] { node.edges.values.sorted { $0.number < $1.number } }

    // MARK: The beginning of an ownership

    /// Takes over the store of the claim, so that other nodes can bring their sockets.
    private func becomeOwner(_ node: SimulatedNode) {
        guard let claimed = node.claimed else { return }
        node.claimed = nil
        nodeStores += 1
        node.store = NodeStore(epoch: claimed.epoch, number: nodeStores)
        node.lastTicket = 0
        node.durableTicket = 0
        let box = SwitchboardBox(
            Switchboard(
                policy: policy,
                stored: claimed.state,
                capabilities: Capabilities(),
                random: nodeRandom(),
                at: moment(of: node)
            )
        )
        guard row.epoch == claimed.epoch else {
            // Another node has claimed meanwhile, and this one does not know it.
            depose(node, box, claimed)
            after(nodeDraws.within(0...1_000), node, .renews(store: nodeStores))
            return
        }
        run += 1
        serverAhead = node.ahead
        statistics.takeOvers += 1
        checker.restarted(with: claimed.calls, claimed.state.devices, at: now, saying: moment)
        timerAt = nil
        flushIsPlanned = false
        storeIsStalled = node.isCutFromDatabase || isDatabaseAway
        switchboard = box
        owner = node
        lastTicket = Ticket(rawValue: 0)
        log("\(node.name) owns the calls, \(claimed.calls.count) calls kept")
    }

    /// Begins to decide: this node's own sockets are adopted, and the events that have waited are handled.
    private func beginServing(_ node: SimulatedNode) {
        guard let epoch = node.tenure.ownEpoch else { return }
        if node === owner { checker.serverSince = now }
        passToAttachment(.attached(epoch), at: node)
        var waiting: [(link: Int, number: UInt64, event: EdgeEvent)] = []
        swap(&waiting, &node.eventsBeforeServing)
        for one in waiting { takeAsOwner(one.event, number: one.number, over: one.link, at: node) }
        if node === owner { after(1, node, .ownerTimer) }
    }

    // MARK: The end of an ownership

    /// Commits everything and releases the calls; the loop waits for that.
    private func releaseCalls(_ epoch: OwnerEpoch, heir: NodeID?, _ node: SimulatedNode) {
        guard let store = node.store, store.epoch == epoch else {
            // The claim has come after the end was decided.
            node.claimed = nil
            releaseRow(epoch, to: heir)
            after(1, node, .released(epoch))
            return
        }
        log("\(node.name) releases the calls to \(heir?.text ?? "any node")")
        if node === owner { flush() }
        confirmEvents(at: node)
        node.isReleasing = true
        store.release = NodeStore.Release(heir: heir)
        watchLinks(of: node)
        pump(store, node)
        // A store that cannot reach the database gives up.
        after(3_000, node, .closed(store: store.number))
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

    /// Drops the calls, which this node owns no longer.
    private func drop(_ node: SimulatedNode) {
        for edge in edges(of: node) { endLink(edge.link, at: NodeLink.server) }
        node.edges = [:]
        node.eventsBeforeServing = []
        if node === owner { loseOwner() }
        node.store = nil
        node.deposed = nil
        // A deposed node begins anew, in the same process; a node that has released the calls ends.
        let beginsAnew = !node.isEnding
        end(node, code: 1001)
        if beginsAnew { after(nodeDraws.within(5...80), node, .begins) }
    }

    /// Records that another node has raised the epoch: nothing that is not durable yet becomes durable.
    func fenceOwner() {
        guard let old = owner, let box = switchboard else { return }
        depose(old, box, nil)
        loseOwner()
        if !old.isStopped { decide(.deadlineReached, at: old) }
    }

    private func depose(_ node: SimulatedNode, _ box: SwitchboardBox, _ claimed: SimulatedNode.Claimed?) {
        var names = checker.calls.mapValues(\.name)
        if let claimed {
            names = [:]
            for call in claimed.calls {
                let pair = Pair(call.record.caller, call.record.callee)
                names[call.record.number] = CallName(id: call.record.id, pair: pair, epoch: call.record.epoch)
            }
        }
        deposedCount += 1
        var deposed = DeposedOwner(
            switchboard: box,
            number: deposedCount,
            run: claimed == nil ? run : -deposedCount,
            node: node.number,
            durability: claimed?.durability ?? checker.durability,
            names: names,
            lastTicket: Ticket(rawValue: node.lastTicket),
            committed: Ticket(rawValue: node.durableTicket)
        )
        for item in node.store?.queue ?? [] {
            guard case .commit(let changes, let ticket) = item, ticket > node.store?.durable ?? ticket else { continue }
            deposed.refused(changes, as: ticket)
        }
        node.deposed = deposed
        log("\(node.name) is deposed and does not know it")
    }

    /// Records that the world has no owner any more.
    func loseOwner() {
        guard owner != nil else { return }
        owner = nil
        switchboard = nil
        run += 1
        storeIsStalled = false
        checker.durability.crashed()
        for index in links.indices where links[index].isOpenAtServer { links[index].isOpenAtServer = false }
        for index in requests.indices where requests[index].isAtServer { requests[index].isAtServer = false }
        checker.tookOver { links[$0].edge.isOpen }
    }
}
