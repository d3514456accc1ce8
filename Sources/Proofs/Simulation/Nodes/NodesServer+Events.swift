import CallCore
import CallPorts
import CallWire
import Nodes
import SeededRandom
import Switchboard

/// What reaches the nodes: events of sockets, requests, links, timers and stores.
extension NodesServer {
    func handle(_ event: Event) {
        switch event {
        case .serverTimer(let run): turns.timerFires(run)
        case .flush(let run): turns.flushIsDue(run)
        case .socketEstablished(let link): arrives(on: link, .socketOpened(link))
        case .up(let link, let frame): if isAlive(link) { arrives(on: link, .socketReceived(link, frame)) }
        case .pongUp(let link, let number): if isAlive(link) { arrives(on: link, .socketPonged(link, number)) }
        case .closeUp(let link): arrives(on: link, .socketClosed(link))
        case .request(let index): requestArrives(index)
        case .node(let node, let life, let event): passToNode(event, at: node, life: life)
        case .database(let request, let node, let life): answer(request, of: node, life: life)
        case .nodeLink(let link, let end):
            guard let message = nodeLinks.nextMessage(of: link, to: end) else { return }
            passToNode(.arrived(link, end: end, message), at: link.ends[end].node, life: link.ends[end].life)
        case .nodeFault(let fault): continueFault(fault)
        case .checkOffer(let device, let key, let epoch, let number):
            checkOffer(network.devices[device], key, epoch, number)
        case .checkService: checkService()
        case .deliveryArrives(let request, let run, let node, let life): deliveryArrives(request, run, node, life)
        case .resends(let resend): if let owner, owner.isServing, !owner.isStopped { turns.resend(resend) }
        case .feedRead(let id, let feed): readFeed(feed, as: id)
        case .question(let question, let run, let node, let life): questionArrives(question, run, node, life)
        case .crowd(let request): crowdArrives(request)
        case .crowdLooks(let id): lookAtCrowd(id)
        default: break
        }
    }

    private func isAlive(_ link: Int) -> Bool { !network.links[link].isHalfOpen && network.links[link].isOpenAtNode }

    /// Passes something that arrives on a socket to the node that has the socket.
    private func arrives(on index: Int, _ event: NodeEvent) {
        passToNode(event, at: network.links[index].node, life: network.links[index].life)
    }

    /// Chooses the node that gets a request; the requests of one call go to different nodes.
    private func requestArrives(_ index: Int) {
        guard !requests.isRegistrationOfEarlierRun(requests.all[index]) else { return }
        let node = balanced()
        guard node.isRunning, !node.isOff else {
            // A machine that is off gives no response: the client waits until its own timer ends the request.
            if !node.isOff { requests.respond(index, status: 0, body: []) }
            return
        }
        passToNode(.requested(index), at: node.number, life: node.life)
    }

    /// Passes a request of the crowd to the owner.
    private func crowdArrives(_ request: CrowdRequest) {
        guard let owner, owner.isServing, !owner.isStopped, let decider = backend?.decider,
            let (principal, asked) = decider.reached(request, run: turns.run)
        else { return }
        turns.serve(.requested(request.id, principal, asked))
    }

    private func lookAtCrowd(_ id: RequestID) {
        let isStalled = turns.isStoreStalled || owner?.isStopped != false
        backend?.decider?.look(id, run: turns.run, isStalled: isStalled)
    }

    func passToNode(_ event: NodeEvent, at number: Int, life: Int) {
        let node = nodes[number]
        guard node.life == life else { return lose(event) }
        if node.isFrozen || node.isReleasing && !event.isOfStore {
            node.held.append(event)
            return
        }
        handleEvent(event, at: node)
        if node.life == life { endTurn(of: node) }
    }

    func handleEvent(_ event: NodeEvent, at node: SimulatedNode) {
        switch event {
        case .timer(let number): if number == node.timer { timerDue(at: node) }
        case .row(let row): pass(.rowRead(row), to: node)
        case .loading: pass(.loading, to: node)
        case .claimed(let claimed, let others):
            node.claimed = claimed
            pass(.claimed(claimed.epoch, others: others), to: node)
        case .claimLost: pass(.claimLost, to: node)
        case .claimFailed: pass(.claimFailed, to: node)
        case .committed(let store, let attempt):
            if let store = node.store(store) { transactionCommitted(attempt, store, node) }
        case .refused(let store): if let store = node.store(store) { refused(store, node) }
        case .renews(let store): if let store = node.store(store) { renew(store, node) }
        case .stalls(let store, let change):
            guard let store = node.store(store), node.databaseChanges == change else { return }
            stall(store, node)
        case .report(let store, let report):
            if node.store(store) != nil { passReport(report, to: node) }
        case .closed(let store): if let store = node.store(store) { storeClosed(store, node) }
        case .released(let epoch): pass(.released(epoch), to: node)
        case .connected(let attempt, let link): connected(attempt, link, node)
        case .arrived(let link, let end, let message): arrived(message, over: link, at: end, node)
        case .socketOpened(let index): socketOpened(index, at: node)
        case .socketReceived(let index, let frame):
            socketEvent(.received(SocketID(rawValue: UInt64(index)), frame), at: node)
        case .socketPonged(let index, let ping):
            socketEvent(.ponged(SocketID(rawValue: UInt64(index)), ping), at: node)
        case .socketClosed(let index):
            guard node.sockets.remove(index) != nil else { return }
            network.links[index].isOpenAtNode = false
            socketEvent(.closed(SocketID(rawValue: UInt64(index)), code: nil), at: node)
        case .requested(let index):
            node.exchanges.insert(index)
            let id = RequestID(rawValue: UInt64(index))
            socketEvent(.requested(id, RequestHead(path: ""), body: []), at: node)
        case .ownerTimer: if node === owner, node.isServing { turns.serve(.deadlineReached) }
        case .pushArrives(let push, let run): pushArrives(push, run, node)
        case .pushResult(let id, let result, let run): if node === owner { turns.pushResult(run, id, result) }
        case .deliveryResult(let id, let result, let run): deliveryEnds(id, result, run, node)
        case .decision(let id, let answer, let run): decided(id, answer, run, node)
        case .begins: begin(node)
        }
    }

    /// Handles an event of this node's sockets, as `Gateway` does.
    private func socketEvent(_ event: SocketEvent, at node: SimulatedNode) {
        if node.passesEventsOn {
            pass(.socketEvent(event, isLinkFull: false), to: node)
        } else {
            decideEvent(event, over: 0, at: node)
        }
    }

    private func socketOpened(_ index: Int, at node: SimulatedNode) {
        guard network.links[index].isOpenAtDevice, !network.links[index].isHalfOpen else { return }
        let device = network.devices[network.links[index].device]
        guard !device.hasExpiredToken else { return after(network.latency(), .closeDown(link: index, code: 4401)) }
        network.links[index].openedAt = now
        network.links[index].heardAt = now
        network.links[index].isOpenAtNode = true
        node.sockets.insert(index)
        log("\(device.id.text) opens socket \(index) at \(node.name)")
        socketEvent(.opened(SocketID(rawValue: UInt64(index)), device.principal, device: device.givenID), at: node)
    }

    /// Handles a push that a node hands to the network; that of a deposed owner may still be on its way.
    private func pushArrives(_ push: OutgoingPush, _ run: Int, _ node: SimulatedNode) {
        guard node !== owner else {
            // The push is not on the wire yet: it can still be cancelled.
            guard run == turns.run else { return }
            return pushes.arrived(push) { result, delay in
                after(delay, node, .pushResult(push.id, result, run: run))
            }
        }
        guard let deposed = node.deposed, deposed.run == run, !deposed.cancelled.contains(push.id) else { return }
        pushes.arrivedFromDeposed(push)
    }

    private func timerDue(at node: SimulatedNode) {
        node.timerAt = nil
        for link in nodeLinks.open(of: node) { check(link, of: node) }
        let life = node.life
        pass(.deadlineReached, to: node)
        guard node.life == life else { return }
        if let due = node.deposed?.switchboard.deadline, due <= moment(of: node) { decide(.deadlineReached, at: node) }
    }

    // MARK: Links

    /// Handles the result of an attempt to connect; `nil` = the connection was refused.
    private func connected(_ attempt: LinkID, _ link: NodeLink?, _ node: SimulatedNode) {
        guard attempt == node.attempt else {
            if let link { nodeLinks.endLink(link, at: NodeLink.client) }
            return
        }
        node.attempt = nil
        guard let link else { return pass(.connectRefused(attempt), to: node) }
        guard !link.ends[NodeLink.client].isClosed else {
            return pass(.connectFailed(attempt, reason: "the connection was cut"), to: node)
        }
        node.links[attempt] = (link, NodeLink.client)
        nodeLinks.post(.hello(node.machine.hello(challenge: [])), over: link, from: NodeLink.client)
        pass(.connected(attempt), to: node)
    }

    /// Handles a message of a link.
    private func arrived(_ message: NodeLink.Message, over link: NodeLink, at end: Int, _ node: SimulatedNode) {
        guard !link.ends[end].isClosed else { return }
        if link.ends[end].isOpen { link.ends[end].watch?.heard(at: moment(of: node)) }
        switch message {
        case .end: ended(link, at: end, .closed, node)
        case .hello(let hello):
            link.ends[end].peer = hello
            guard end == NodeLink.server else { return }
            nodeLinks.post(.hello(node.machine.hello(challenge: [])), over: link, from: end)
            if let refusal = refusal(of: hello, by: node) {
                nodeLinks.post(.refused(refusal), over: link, from: end)
                return nodeLinks.endLink(link, at: end)
            }
            nodeLinks.post(.proof, over: link, from: end)
        case .proof:
            guard let peer = link.ends[end].peer else { return }
            link.ends[end].isOpen = true
            if end == NodeLink.client { nodeLinks.post(.proof, over: link, from: end) }
            let number = link.ends[end].number ?? node.machine.nextLink()
            link.ends[end].number = number
            node.links[number] = (link, end)
            pass(.linkOpened(number, peer), to: node)
        case .refused(let refusal): ended(link, at: end, .refused(refusal), node)
        case .frame(.ping(let number)): nodeLinks.post(.frame(.pong(number)), over: link, from: end)
        case .frame(.pong): break
        case .frame(let frame):
            guard let number = link.ends[end].number, node.links[number] != nil else { return }
            if case .command = frame, end == NodeLink.client, let peer = link.ends[end].peer {
                checkObeyed(peer.epoch, by: node)
            }
            pass(.frameReceived(number, frame), to: node)
        }
    }

    /// Handles the end of a link.
    private func ended(_ link: NodeLink, at end: Int, _ ending: LinkEnd, _ node: SimulatedNode) {
        nodeLinks.endLink(link, at: end)
        guard let number = link.ends[end].number, node.links.removeValue(forKey: number) != nil else { return }
        if end == NodeLink.client { log("\(node.name) loses its link to the owner (\(ending.words))") }
        pass(.linkEnded(number, ending, peer: link.ends[end].peer), to: node)
    }

    /// Sends a ping if one is due, and ends a link that has been silent for too long.
    private func check(_ link: NodeLink, of node: SimulatedNode) {
        for place in link.ends.indices where link.ends[place].node == node.number && !link.ends[place].isClosed {
            guard link.ends[place].watch != nil else { continue }
            if !nodeLinks.isImpaired(link), now >= lastFault + 2_500 {
                link.ends[place].watch = nil
                continue
            }
            switch link.ends[place].watch?.check(at: moment(of: node)) {
            case .ping(let number)?:
                if link.ends[place].isOpen { nodeLinks.post(.frame(.ping(number)), over: link, from: place) }
            case .dead?: ended(link, at: place, .silent, node)
            case nil: break
            }
        }
    }
}
