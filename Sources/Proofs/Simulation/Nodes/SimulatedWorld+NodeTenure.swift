import CallCore
import CallPorts
import Cluster
import Switchboard

/// Carries out what a node decides, as `Node` does.
extension SimulatedWorld {
    func pass(_ input: NodeMachine.Input, to node: SimulatedNode) {
        let before = node.machine.tenure.state
        node.machine.handle(input, at: moment(of: node), into: &node.effects)
        node.newestKnown = max(node.newestKnown, node.machine.tenure.newestEpoch)
        if node.machine.tenure.state != before { log("\(node.name): \(node.machine.tenure.state)") }
        performEffects(of: node)
    }

    /// Returns why a node does not serve another one that connects; `nil` = that one may prove itself.
    func refusal(of peer: Hello, by node: SimulatedNode) -> NodeFrame.LinkRefusal? {
        let refusal = node.machine.refusal(of: peer, at: moment(of: node), into: &node.effects)
        performEffects(of: node)
        return refusal
    }

    /// Confirms the events whose changes are durable.
    func confirmEvents(at node: SimulatedNode) {
        let box = node === owner ? switchboard : node.deposed?.switchboard
        node.machine.confirmEvents(hasChanges: box?.hasChanges == true, into: &node.effects)
        performEffects(of: node)
    }

    private func performEffects(of node: SimulatedNode) {
        guard !node.isPerforming else { return }
        node.isPerforming = true
        let life = node.life
        while !node.effects.isEmpty, node.life == life {
            var batch: [NodeMachine.Effect] = []
            swap(&batch, &node.effects)
            for effect in batch where node.life == life { perform(effect, at: node) }
        }
        node.isPerforming = false
    }

    private func perform(_ effect: NodeMachine.Effect, at node: SimulatedNode) {
        switch effect {
        case .readRow: ask(.read, node)
        case .claim(let epoch, let known): ask(.claim(after: epoch, above: known), node)
        case .giveBack(let epoch, let heir):
            node.claimed = nil
            releaseRow(epoch, to: heir)
            after(1, node, .released(epoch))
        case .connect(let link, let address): connect(node, to: address, as: link)
        case .send(let link, let frame): send(frame, over: link, of: node)
        case .close(let link), .closeAfterWriting(let link): close(link, of: node)
        case .refuse(let link, let refusal):
            if let (link, end) = node.links[link] { post(.refused(refusal), over: link, from: end) }
            close(link, of: node)
        case .beginOwnership: becomeOwner(node)
        case .serve:
            node.passesEventsOn = false
            guard node === owner else { return }
            checker.serverSince = now
            after(1, node, .ownerTimer)
        case .endOwnership(let epoch, let heir):
            node.passesEventsOn = true
            releaseCalls(epoch, heir: heir, node)
        case .dropCalls: drop(node)
        case .decide(let event, let link): decideEvent(event, over: link, at: node)
        case .adopt(let socket, let link): adopt(socket, over: link, at: node)
        case .assignDevice(let socket, let link): assignDevice(to: socket, over: link, from: node)
        case .sendRevocations(let link): sendRevocations(over: link, of: node)
        case .revoke(let revocation, let moment): decideRevocation(revocation, before: moment, at: node)
        case .revocationDone(let id): revocationDone(id)
        case .carryOut(let command): carryOut(command, at: node)
        case .refuseRequest(let id): refuse(Int(id.rawValue), at: node)
        case .beginAnew:
            // A deposed node begins anew, in the same process; a node that has released the calls ends.
            let beginsAnew = !node.isEnding
            end(node, code: 1001)
            if beginsAnew { after(nodeDraws.within(5...80), node, .begins) }
        // The end of the run closes the sockets.
        case .closeOwnSockets: break
        case .note: break
        }
    }

    func send(_ frame: NodeFrame, over number: LinkID, of node: SimulatedNode) {
        if let (link, end) = node.links[number] { send(frame, over: link, from: end) }
    }

    // MARK: The beginning of an ownership

    /// Takes over the store of the claim, so that other nodes can bring their sockets.
    private func becomeOwner(_ node: SimulatedNode) {
        guard let claimed = node.claimed else { return }
        node.claimed = nil
        for (user, moment) in claimed.state.revocations { node.revokedUsers[user] = moment }
        nodeStores += 1
        node.store = NodeStore(epoch: claimed.epoch, number: nodeStores)
        let box = SwitchboardBox(
            Switchboard(
                policy: policy,
                stored: claimed.state,
                ports: .init(capabilities: Capabilities(), random: nodeRandom()),
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
        log("\(node.name) owns the calls, \(claimed.calls.count) calls kept")
    }

    // MARK: The end of an ownership

    /// Commits everything and releases the calls; the loop waits for that.
    private func releaseCalls(_ epoch: OwnerEpoch, heir: NodeID?, _ node: SimulatedNode) {
        guard let store = node.store, store.epoch == epoch else { return }
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
        node.passesEventsOn = true
        if node === owner { loseOwner() }
        node.store = nil
        node.deposed = nil
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
        // A run that never was the world's owner has a number of its own, below all others.
        var deposed = DeposedOwner(
            switchboard: box,
            run: claimed == nil ? run : -nodeStores,
            durability: claimed?.durability ?? checker.durability,
            names: names
        )
        for item in node.store?.queue ?? [] {
            guard case .commit(let changes, let ticket) = item, ticket > node.store?.durable ?? ticket else { continue }
            deposed.refused(changes)
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
        checker.tookOver { links[$0].isOpenAtNode }
    }
}
