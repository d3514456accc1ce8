import CallCore
import CallPorts
import CallWire
import Cluster
import SeededRandom
import Switchboard

/// The sockets and requests of a node.
extension SimulatedWorld {
    /// Handles an event of this node's sockets, as `Gateway` does.
    func socketEvent(_ event: EdgeEvent, at node: SimulatedNode) {
        if node.passesEventsOn {
            pass(.socketEvent(event, isLinkFull: false), to: node)
        } else {
            decideEvent(event, over: 0, at: node)
        }
    }

    // MARK: Sockets

    /// Opens a connection of a device to one of the nodes.
    ///
    /// `attempt`: The number of a real app's attempt to connect; 0 for a model client.
    func connectToNode(_ device: SimulatedDevice, attempt: UInt64) {
        device.isConnecting = true
        let node = balanced()
        guard now >= device.offlineUntil, node.isRunning, !node.isEnding, !node.isOff else {
            device.isConnecting = false
            // A machine that is off refuses no connection: the client waits until its own timer ends the attempt.
            if device.isRealApp, node.isOff, now >= device.offlineUntil { return }
            guard !device.isRealApp else { return failAttempt(of: device, attempt) }
            device.backoff = min(device.backoff * 2, 4_000)
            let wait = node.isOff ? networkDraws.within(1_000...3_000) : 0
            after(device.backoff + wait + networkDraws.within(0...100), .connect(device: device.index))
            return
        }
        links.append(Link(device: device.index, instance: device.instance, run: run, openedAt: now))
        links[links.count - 1].node = node.number
        links[links.count - 1].life = node.life
        links[links.count - 1].attempt = attempt
        device.link = links.count - 1
        after(latency(), .socketEstablished(link: links.count - 1))
    }

    /// Chooses a node, as a balancer does that mostly knows which nodes are ready.
    private func balanced() -> SimulatedNode {
        let ready = simulatedNodes.filter { $0.isRunning && !$0.isOff && $0.machine.notReadyReason == nil }
        if !ready.isEmpty, nodeDraws.percent(85) { return ready[nodeDraws.below(ready.count)] }
        return simulatedNodes[nodeDraws.below(simulatedNodes.count)]
    }

    /// Passes something that arrives on a socket to the node that has the socket.
    func arrives(on index: Int, _ event: NodeEvent) {
        passToNode(event, at: links[index].node, life: links[index].life)
    }

    func socketOpened(_ index: Int, at node: SimulatedNode) {
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen else { return }
        let device = devices[links[index].device]
        guard !device.hasExpiredToken else { return after(latency(), .closeDown(link: index, code: 4401)) }
        links[index].openedAt = now
        links[index].heardAt = now
        links[index].isOpenAtNode = true
        node.sockets.insert(index)
        log("\(device.id.text) opens socket \(index) at \(node.name)")
        socketEvent(.opened(EdgeSocketID(rawValue: UInt64(index)), device.principal, device: device.id), at: node)
    }

    func closeSocket(_ index: Int, code: UInt16, at node: SimulatedNode) {
        guard links[index].isOpenAtNode, node.sockets.contains(index) else { return }
        links[index].isOpenAtNode = false
        log("\(node.name) closes socket \(index) of \(devices[links[index].device].id.text), \(code)")
        after(1, node, .socketClosed(index))
        guard !links[index].isHalfOpen, !links[index].isClosing else { return }
        links[index].isClosing = true
        events.plan(.closeDown(link: index, code: code), at: max(links[index].downUntil, now + latency()))
    }

    // MARK: Commands

    func carryOut(_ command: OwnerCommand, at node: SimulatedNode) {
        switch command {
        case .send(let frame, let id, _):
            let index = Int(id.rawValue)
            if links[index].isOpenAtNode { writesDown(parsed(frame.bytes), on: index) }
        case .ping(let id, let number): pingDown(Int(id.rawValue), number)
        case .close(let id, let code, _, _): closeSocket(Int(id.rawValue), code: code, at: node)
        case .respond(let id, let response):
            respond(Int(id.rawValue), status: Int(response.status), body: response.body, at: node)
        case .revoke(let user, let moment):
            node.revokedUsers[user] = moment
        case .markAuthenticated, .bind, .assign: break
        }
    }

    func pingDown(_ index: Int, _ number: UInt64) {
        guard links[index].isOpenAtNode, !links[index].isHalfOpen else { return }
        let at = max(links[index].downUntil, now + latency())
        links[index].downUntil = at
        events.plan(.pingDown(link: index, number: number), at: at)
    }

    // MARK: Requests

    /// Chooses the node that gets a request; the requests of one call go to different nodes.
    func requestArrivesAtNode(_ index: Int) {
        let node = balanced()
        guard node.isRunning, !node.isOff else {
            // A machine that is off gives no response: the client waits until its own timer ends the request.
            if !node.isOff { after(latency(), .response(index, status: 0, body: [])) }
            return
        }
        passToNode(.requested(index), at: node.number, life: node.life)
    }

    func requestArrives(_ index: Int, at node: SimulatedNode) {
        node.exchanges.insert(index)
        let id = EdgeExchangeID(rawValue: UInt64(index))
        socketEvent(.requested(id, EdgeRequestHead(path: ""), body: []), at: node)
    }

    /// Responds to a request for which there is no owner at present.
    func refuse(_ index: Int, at node: SimulatedNode) {
        let reply = Reply(WireError(.draining, "the calls are moving to another node: try again"), retryAfterSeconds: 1)
        respond(index, status: reply.status, body: reply.body, at: node)
    }

    func respond(_ index: Int, status: Int, body: [UInt8], at node: SimulatedNode) {
        guard node.exchanges.remove(index) != nil else { return }
        guard status == 0 || !requests[index].losesResponse else { return }
        after(status == 0 ? networkDraws.within(1...300) : latency(), .response(index, status: status, body: body))
    }
}
