import CallCore
import CallPorts
import CallWire
import Nodes
import SeededRandom
import Switchboard

/// A server of several nodes: each runs the real `NodeMachine`, and the owner the real switchboard.
///
/// This part plays the loops and stores of the nodes, which carry out what these two decide.
final class NodesServer: Part, ServerUnderTest {
    let turns: Turns
    let network: Network
    let requests: Requests
    let pushes: PushServices
    /// The app's backend; `nil` = there is none.
    let backend: Backend?
    let nodes: [SimulatedNode]
    let nodeLinks: NodeLinks
    let database: NodeDatabase
    /// The node whose switchboard decides: no later claim was carried out.
    var owner: SimulatedNode?
    var storeCount = 0
    /// When a run of a node was last seen.
    var seenNodes: [NodeID: Int64] = [:]
    /// When a fault of a node, of the database or between nodes last began or ended.
    var lastFault = Course.startTime
    var revocations = NodeRevocations()
    /// When an owner last served.
    var lastServed = Course.startTime

    init(
        _ turns: Turns,
        _ network: Network,
        _ requests: Requests,
        _ pushes: PushServices,
        _ backend: Backend? = nil
    ) {
        let course = turns.course
        self.turns = turns
        self.network = network
        self.requests = requests
        self.pushes = pushes
        self.backend = backend
        nodes = (0..<course.scenario.nodeCount).compactMap { number in
            let id = NodeID("n\(number)")
            return id.map { SimulatedNode(number: number, id: $0, at: Moment(milliseconds: course.now)) }
        }
        nodeLinks = NodeLinks(course, between: nodes)
        database = NodeDatabase(course, of: nodes, backend)
        super.init(course)
        turns.server = self
    }

    /// Whether the owner's timers count: one that gathers the other nodes, or stalls, decides nothing.
    var decides: Bool { owner.map { $0.isServing && !$0.isStopped } ?? false }

    var isStopped: Bool { owner?.isStopped ?? false }

    /// The moment on a node's clock.
    func moment(of node: SimulatedNode) -> Moment { Moment(milliseconds: now + node.ahead) }

    /// Plans something that happens to this run of a node.
    func after(_ milliseconds: Int64, _ node: SimulatedNode, _ event: NodeEvent) {
        after(milliseconds, .node(node.number, life: node.life, event))
    }

    func start() {
        for node in nodes { after(draws.nodes.within(0...60), node, .begins) }
        after(500, .checkService)
    }

    // MARK: Sockets and requests

    func connect(_ device: SimulatedDevice, attempt: UInt64) -> Connecting {
        let node = balanced()
        guard now >= device.offlineUntil, node.isRunning, !node.isEnding, !node.isOff else {
            // A machine that is off refuses no connection: the client waits until its own timer ends the attempt.
            if node.isOff, now >= device.offlineUntil, attempt > 0 { return .silent }
            let wait = attempt == 0 && node.isOff ? draws.network.within(1_000...3_000) : 0
            return .refused(wait: wait)
        }
        let index = network.open(device, attempt: attempt, run: turns.run)
        network.links[index].node = node.number
        network.links[index].life = node.life
        return .opens
    }

    /// Chooses a node, as a balancer does that mostly knows which nodes are ready.
    func balanced() -> SimulatedNode {
        let ready = nodes.filter { $0.isRunning && !$0.isOff && $0.machine.notReadyReason == nil }
        if !ready.isEmpty, draws.nodes.percent(85) { return ready[draws.nodes.below(ready.count)] }
        return nodes[draws.nodes.below(nodes.count)]
    }

    func closeExpired(_ link: Int) { closeSocket(link, code: 4401, at: nodes[network.links[link].node]) }

    // MARK: The commands of the owner

    func closeSocket(_ index: Int, code: UInt16, at node: SimulatedNode) {
        guard network.links[index].isOpenAtNode, node.sockets.contains(index) else { return }
        network.links[index].isOpenAtNode = false
        log("\(node.name) closes socket \(index) of \(network.devices[network.links[index].device].id.text), \(code)")
        after(1, node, .socketClosed(index))
        guard !network.links[index].isHalfOpen, !network.links[index].isClosing else { return }
        network.closeDown(index, code: code)
    }

    func carryOut(command: SocketCommand, at node: SimulatedNode) {
        switch command {
        case .send(let frame, let id, _):
            let index = Int(id.rawValue)
            if network.links[index].isOpenAtNode { network.writesAtNode(network.parsed(frame.bytes), on: index) }
        case .ping(let id, let number): network.pingDown(Int(id.rawValue), number)
        case .close(let id, let code, _, _): closeSocket(Int(id.rawValue), code: code, at: node)
        case .respond(let id, let response):
            respond(Int(id.rawValue), status: Int(response.status), body: response.body, at: node)
        case .revoke(let user, let moment):
            node.revokedUsers[user] = moment
        case .markAuthenticated, .bind, .assign: break
        }
    }

    /// Responds to a request for which there is no owner at present.
    func refuse(_ index: Int, at node: SimulatedNode) {
        let reply = Reply(WireError(.draining, "the calls are moving to another node: try again"), retryAfterSeconds: 1)
        respond(index, status: reply.status, body: reply.body, at: node)
    }

    func respond(_ index: Int, status: Int, body: [UInt8], at node: SimulatedNode) {
        guard node.exchanges.remove(index) != nil else { return }
        guard status == 0 || !requests.all[index].losesResponse else { return }
        after(
            status == 0 ? draws.network.within(1...300) : network.latency(),
            .response(index, status: status, body: body)
        )
    }

    // MARK: The owner

    func depose(_ node: SimulatedNode, _ box: SwitchboardBox, _ claimed: SimulatedNode.Claimed?) {
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
            run: claimed == nil ? turns.run : -storeCount,
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
}
