import CallCore
import CallPorts
import Nodes
import SeededRandom
import Switchboard

/// Carries out what a node decides, as `Node` does.
extension NodesServer {
    func pass(_ input: NodeMachine.Input, to node: SimulatedNode) {
        let before = node.machine.tenure.state
        node.machine.handle(input, at: moment(of: node), into: &node.effects.added)
        node.newestKnown = max(node.newestKnown, node.machine.tenure.newestEpoch)
        if node.machine.tenure.state != before { log("\(node.name): \(node.machine.tenure.state)") }
        performEffects(of: node)
    }

    /// Returns why a node does not serve another one that connects; `nil` = that one may prove itself.
    func refusal(of peer: Hello, by node: SimulatedNode) -> NodeFrame.LinkRefusal? {
        let refusal = node.machine.refusal(of: peer, at: moment(of: node), into: &node.effects.added)
        performEffects(of: node)
        return refusal
    }

    /// Confirms the events whose changes are durable.
    func confirmEvents(at node: SimulatedNode) {
        let box = node === owner ? turns.switchboard : node.deposed?.switchboard
        node.machine.confirmEvents(hasChanges: box?.hasChanges == true, into: &node.effects.added)
        performEffects(of: node)
    }

    func turnEnded() { if let owner { confirmEvents(at: owner) } }

    func flushed() { if let owner { endTurn(of: owner) } }

    /// Carries out the effects in order, as long as this run of the node goes on.
    private func performEffects(of node: SimulatedNode) {
        guard node.effects.begin() else { return }
        let life = node.life
        while node.life == life, let effect = node.effects.next() { perform(effect, at: node) }
        node.effects.end()
    }

    private func perform(_ effect: NodeMachine.Effect, at node: SimulatedNode) {
        switch effect {
        case .readRow: database.ask(.read, node)
        case .claim(let epoch, let known): database.ask(.claim(after: epoch, above: known), node)
        case .giveBack(let epoch, let heir):
            node.claimed = nil
            database.releaseRow(epoch, to: heir)
            after(1, node, .released(epoch))
        case .connect(let link, let address): connect(node, to: address, as: link)
        case .send(let link, let frame): send(frame, over: link, of: node)
        case .close(let link), .closeAfterWriting(let link): close(link, of: node)
        case .refuse(let link, let refusal):
            if let (link, end) = node.links[link] { nodeLinks.post(.refused(refusal), over: link, from: end) }
            close(link, of: node)
        case .beginOwnership: becomeOwner(node)
        case .serve:
            node.passesEventsOn = false
            guard node === owner else { return }
            checker.serverSince = now
            after(1, node, .ownerTimer)
        case .endOwnership(let epoch, let heir):
            checkHeir(heir, of: node)
            node.passesEventsOn = true
            releaseCalls(epoch, heir: heir, node)
        case .dropCalls: drop(node)
        case .decide(let event, let link):
            // The event would be lost: only an owner, though it may be deposed, has a switchboard that takes it.
            if node.machine.tenure.ownEpoch == nil { fail("I13", "\(node.name) decides an event, but owns no calls") }
            decideEvent(event, over: link, at: node)
        case .admit(let socket, let principal, let device, let link):
            decideEvent(.opened(socket, principal, device: device), over: link, at: node)
        case .adopt(let socket, let link): adopt(socket, over: link, at: node)
        case .assignDevice(let socket, let link): assignDevice(to: socket, over: link, from: node)
        case .sendRevocations(let link): sendRevocations(over: link, of: node)
        case .revoke(let revocation, let moment): decideRevocation(revocation, before: moment, at: node)
        case .revocationDone(let id): revocationDone(id)
        case .carryOut(let command): carryOut(command: command, at: node)
        case .refuseRequest(let id): refuse(Int(id.rawValue), at: node)
        case .beginAnew:
            // A deposed node begins anew, in the same process; a node that has released the calls ends.
            let beginsAnew = !node.isEnding
            end(node, code: 1001)
            if beginsAnew { after(draws.nodes.within(5...80), node, .begins) }
        // The end of the run closes the sockets.
        case .closeOwnSockets: break
        case .note: break
        }
    }

    func send(_ frame: NodeFrame, over number: LinkID, of node: SimulatedNode) {
        if let (link, end) = node.links[number] { nodeLinks.post(.frame(frame), over: link, from: end) }
    }

    /// Tells a node that was just linked what is revoked.
    func sendRevocations(over link: LinkID, of node: SimulatedNode) {
        for (user, moment) in node.revokedUsers.sorted(by: { $0.key.text < $1.key.text }) {
            send(.command(.revoke(user, upTo: moment + node.machine.clockLead)), over: link, of: node)
        }
    }

    private func revocationDone(_ id: RevocationID) {
        let place = Int(id.rawValue)
        if revocations.asked.indices.contains(place) { revocations.done.insert(revocations.asked[place].user) }
    }

    // MARK: Links

    private func connect(_ node: SimulatedNode, to address: String, as attempt: LinkID) {
        node.attempt = attempt
        guard let number = Int(address), nodes.indices.contains(number) else {
            return pass(.connectFailed(attempt, reason: "no node has this address"), to: node)
        }
        let server = nodes[number]
        let fault = nodeLinks.fault(between: node.number, number)
        // A machine that is off refuses no connection: the attempt ends by the tenure's own deadline.
        guard fault != .silent, !server.isOff else { return }
        guard fault != .refusing, server.isRunning, !server.isEnding else {
            return after(draws.nodes.within(1...8), node, .connected(attempt, nil))
        }
        let link = nodeLinks.connect(node, to: server, as: attempt)
        watch(link)
        after(draws.nodes.within(1...8), node, .connected(attempt, link))
    }

    /// Ends a link of a node, or the attempt to open it; what was sent before still arrives.
    private func close(_ number: LinkID, of node: SimulatedNode) {
        if node.attempt == number { node.attempt = nil }
        if let (link, end) = node.links.removeValue(forKey: number) { nodeLinks.endLink(link, at: end) }
    }

    /// Begins to watch the links of a node for silence.
    func watchLinks(of node: SimulatedNode) { for link in nodeLinks.open(of: node) { watch(link) } }

    /// Begins to watch a link at both ends, if nothing may pass on it.
    func watch(_ link: NodeLink) {
        guard nodeLinks.isImpaired(link) else { return }
        for place in link.ends.indices {
            let node = nodes[link.ends[place].node]
            guard link.ends[place].watch == nil, !link.ends[place].isClosed, node.life == link.ends[place].life else {
                continue
            }
            // The last ping came up to half a second ago.
            let heard = draws.nodes.within(0...500)
            link.ends[place].watch = LinkWatch(at: moment(of: node) + .milliseconds(-heard))
            endTurn(of: node)
        }
    }

    // MARK: The beginning of an ownership

    /// Takes over the store of the claim, so that other nodes can bring their sockets.
    private func becomeOwner(_ node: SimulatedNode) {
        guard let claimed = node.claimed else { return }
        node.claimed = nil
        for (user, moment) in claimed.state.revocations { node.revokedUsers[user] = moment }
        storeCount += 1
        node.store = NodeStore(epoch: claimed.epoch, number: storeCount)
        let random = SeededGenerator(seed: draws.serverSeed, stream: UInt64(storeCount) + 1)
        let box = turns.makeSwitchboard(claimed.state, random: random, at: moment(of: node))
        guard database.row.epoch == claimed.epoch else {
            // Another node has claimed meanwhile, and this one does not know it.
            depose(node, box, claimed)
            after(draws.nodes.within(0...1_000), node, .renews(store: storeCount))
            return
        }
        course.serverAhead = node.ahead
        statistics.takeOvers += 1
        checker.restarted(with: claimed.calls, claimed.state.devices, at: now, saying: moment)
        turns.begin(box)
        turns.isStoreStalled = node.isCutFromDatabase || database.isAway
        owner = node
        log("\(node.name) owns the calls, \(claimed.calls.count) calls kept")
    }

    // MARK: The end of an ownership

    /// Commits everything and releases the calls; the loop waits for that.
    private func releaseCalls(_ epoch: OwnerEpoch, heir: NodeID?, _ node: SimulatedNode) {
        guard let store = node.store, store.epoch == epoch else { return }
        log("\(node.name) releases the calls to \(heir?.text ?? "any node")")
        if node === owner { turns.flush() }
        confirmEvents(at: node)
        node.isReleasing = true
        store.release = NodeStore.Release(heir: heir)
        watchLinks(of: node)
        database.pump(store, node)
        // A store that cannot reach the database gives up.
        after(3_000, node, .closed(store: store.number))
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
        guard let old = owner, let box = turns.switchboard else { return }
        depose(old, box, nil)
        loseOwner()
        if !old.isStopped { decide(.deadlineReached, at: old) }
    }

    /// Records that the world has no owner any more.
    private func loseOwner() {
        guard owner != nil else { return }
        owner = nil
        turns.end()
        turns.isStoreStalled = false
        checker.durability.crashed()
        for index in network.links.indices where network.links[index].isOpenAtServer {
            network.links[index].isOpenAtServer = false
        }
        for index in requests.all.indices where requests.all[index].isAtServer {
            requests.all[index].isAtServer = false
        }
        checker.tookOver { network.links[$0].isOpenAtNode }
    }

    // MARK: The end of a turn, and of a run

    /// Ends a turn of a node's loop: confirms what is durable, and sets the timer.
    func endTurn(of node: SimulatedNode) {
        guard node.isRunning, !node.isStopped else { return }
        if node.isEnding, node.machine.hasEnded { return end(node, code: 1001) }
        confirmEvents(at: node)
        planTimer(of: node)
    }

    private func planTimer(of node: SimulatedNode) {
        var next = node.machine.deadline
        func consider(_ moment: Moment?) { if let moment { next = min(next ?? moment, moment) } }
        for link in nodeLinks.all {
            for end in link.ends where end.node == node.number && end.life == node.life && !end.isClosed {
                consider(end.watch?.deadline)
            }
        }
        consider(node.deposed?.switchboard.deadline)
        guard let at = next.map({ max(now, $0.milliseconds - node.ahead) }) else { return }
        if let timerAt = node.timerAt, timerAt <= at { return }
        node.timer += 1
        node.timerAt = at
        // A timer may be late, but never early.
        after(at - now + draws.nodes.within(1...4), node, .timer(node.timer))
    }

    /// Ends a run of a node: its sockets and links end, and everything in memory is lost.
    ///
    /// `code`: the code with which the node closes its sockets; `nil` = its process is gone, and they break.
    func end(_ node: SimulatedNode, code: UInt16?) {
        guard node.isRunning else { return }
        node.isRunning = false
        seenNodes[node.id] = now
        if node === owner { loseOwner() }
        for index in node.sockets.sorted() { breakSocket(index, of: node, code: code) }
        for index in node.exchanges.sorted() {
            if code == nil { respond(index, status: 0, body: [], at: node) } else { refuse(index, at: node) }
        }
        for link in nodeLinks.open(of: node) { nodeLinks.endLink(link, at: link.ends[0].node == node.number ? 0 : 1) }
        node.life += 1
        node.sockets = []
        node.exchanges = []
        node.links = [:]
        node.attempt = nil
        node.effects.removeAll()
        for event in node.held { lose(event) }
        node.held = []
        node.claimed = nil
        node.store = nil
        node.deposed = nil
    }

    private func breakSocket(_ index: Int, of node: SimulatedNode, code: UInt16?) {
        guard network.links[index].isOpenAtNode else { return }
        network.links[index].isOpenAtNode = false
        // A machine that is off closes nothing: its clients notice after a while that nothing arrives.
        if node.isOff { return network.makeHalfOpen(index, deviceNoticesAfter: 1_000...15_000) }
        guard !network.links[index].isHalfOpen, !network.links[index].isClosing else { return }
        network.links[index].isClosing = true
        let at = max(code == nil ? 0 : network.links[index].downUntil, now + network.latency())
        plan(.closeDown(link: index, code: code ?? 1006), at: at)
    }

    /// Handles an event of a run that is over.
    func lose(_ event: NodeEvent) {
        switch event {
        case .requested(let index): after(network.latency(), .response(index, status: 0, body: []))
        case .socketOpened(let index): after(network.latency(), .closeDown(link: index, code: 1006))
        default: break
        }
    }
}
