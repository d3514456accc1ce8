import CallCore
import CallPorts
import Cluster
import SeededRandom
import Switchboard

/// A server of several nodes: each runs the real `NodeMachine`, and the owner the real switchboard. The world plays the
/// database, the links, and the sockets.
extension SimulatedWorld {
    /// Whether this world has several nodes.
    var hasNodes: Bool { nodeCount > 0 }

    /// Whether the server's timers count: an owner that gathers the other nodes, or stands still, decides nothing.
    var ownerDecides: Bool {
        guard hasNodes else { return true }
        return owner.map { $0.isServing && !$0.isStopped } ?? false
    }

    /// The moment on a node's clock.
    func moment(of node: SimulatedNode) -> Moment { Moment(milliseconds: now + node.ahead) }

    /// Plans something that happens to this run of a node.
    func after(_ milliseconds: Int64, _ node: SimulatedNode, _ event: NodeEvent) {
        after(milliseconds, .node(node.number, life: node.life, event))
    }

    // MARK: Runs

    func startNodes() {
        for number in 0..<nodeCount {
            guard let id = NodeID("n\(number)") else { continue }
            simulatedNodes.append(SimulatedNode(number: number, id: id, at: moment))
            after(nodeDraws.within(0...60), simulatedNodes[number], .begins)
        }
        after(500, .checkService)
    }

    /// Begins a run of a node.
    func begin(_ node: SimulatedNode) {
        guard !node.isRunning, !node.isOff else { return }
        node.life += 1
        node.id = NodeID("n\(node.number)-\(node.life)") ?? node.id
        let range: Int64 = faults.contains(.leaps) ? 20_000 : 150
        node.ahead = nodeDraws.within(-range...range)
        node.isRunning = true
        node.isFrozen = false
        node.isReleasing = false
        node.isEnding = false
        node.held = []
        node.machine = NodeMachine(node: node.id, at: moment(of: node))
        node.machine.clockLead = .milliseconds(-node.ahead)
        node.passesEventsOn = true
        node.revokedUsers = [:]
        node.newestKnown = .none
        node.timerAt = nil
        seenNodes[node.id] = now
        log("\(node.name) begins as \(node.id.text)")
        pass(.started, to: node)
        endTurn(of: node)
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
        for link in links(of: node) { endLink(link, at: link.ends[0].node == node.number ? 0 : 1) }
        node.life += 1
        node.sockets = []
        node.exchanges = []
        node.links = [:]
        node.attempt = nil
        node.effects = []
        for event in node.held { lose(event) }
        node.held = []
        node.claimed = nil
        node.store = nil
        node.deposed = nil
    }

    private func breakSocket(_ index: Int, of node: SimulatedNode, code: UInt16?) {
        guard links[index].isOpenAtNode else { return }
        links[index].isOpenAtNode = false
        // A machine that is off closes nothing: its clients notice after a while that nothing arrives.
        if node.isOff { return makeHalfOpen(index, deviceNoticesAfter: 1_000...15_000) }
        guard !links[index].isHalfOpen, !links[index].isClosing else { return }
        links[index].isClosing = true
        let at = max(code == nil ? 0 : links[index].downUntil, now + latency())
        events.plan(.closeDown(link: index, code: code ?? 1006), at: at)
    }

    // MARK: Events

    func passToNode(_ event: NodeEvent, at number: Int, life: Int) {
        let node = simulatedNodes[number]
        guard node.life == life else { return lose(event) }
        if node.isFrozen || node.isReleasing && !event.isOfStore {
            node.held.append(event)
            return
        }
        handleEvent(event, at: node)
        if node.life == life { endTurn(of: node) }
    }

    /// Handles an event of a run that is over.
    private func lose(_ event: NodeEvent) {
        switch event {
        case .requested(let index): after(latency(), .response(index, status: 0, body: []))
        case .socketOpened(let index): after(latency(), .closeDown(link: index, code: 1006))
        default: break
        }
    }

    private func handleEvent(_ event: NodeEvent, at node: SimulatedNode) {
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
            if let store = self.store(store, of: node) { transactionCommitted(attempt, store, node) }
        case .refused(let store): if let store = self.store(store, of: node) { refused(store, node) }
        case .renews(let store): if let store = self.store(store, of: node) { renew(store, node) }
        case .stalls(let store, let change):
            guard let store = self.store(store, of: node), node.databaseChanges == change else { return }
            stall(store, node)
        case .report(let store, let report):
            if self.store(store, of: node) != nil { passReport(report, to: node) }
        case .closed(let store): if let store = self.store(store, of: node) { storeClosed(store, node) }
        case .released(let epoch): pass(.released(epoch), to: node)
        case .connected(let attempt, let link): connected(attempt, link, node)
        case .arrived(let link, let end, let message): arrived(message, over: link, at: end, node)
        case .socketOpened(let index): socketOpened(index, at: node)
        case .socketReceived(let index, let frame):
            socketEvent(.received(EdgeSocketID(rawValue: UInt64(index)), frame), at: node)
        case .socketPonged(let index, let ping):
            socketEvent(.ponged(EdgeSocketID(rawValue: UInt64(index)), ping), at: node)
        case .socketClosed(let index):
            guard node.sockets.remove(index) != nil else { return }
            links[index].isOpenAtNode = false
            socketEvent(.closed(EdgeSocketID(rawValue: UInt64(index)), code: nil), at: node)
        case .requested(let index): requestArrives(index, at: node)
        case .ownerTimer: if node === owner, node.isServing { serve(.deadlineReached) }
        case .pushArrives(let push, let run): nodePushArrives(push, run, node)
        case .pushResult(let id, let result, let run): if node === owner { pushResult(run, id, result) }
        case .begins: begin(node)
        }
    }

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
        for link in nodeLinks {
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
        after(at - now + nodeDraws.within(1...4), node, .timer(node.timer))
    }

    private func timerDue(at node: SimulatedNode) {
        node.timerAt = nil
        for link in links(of: node) { check(link, of: node) }
        let life = node.life
        pass(.deadlineReached, to: node)
        guard node.life == life else { return }
        if let due = node.deposed?.switchboard.deadline, due <= moment(of: node) { decide(.deadlineReached, at: node) }
    }

    // MARK: Standing still and going on

    /// Stops a process with all its threads.
    func freeze(_ node: SimulatedNode) {
        guard node.isRunning, !node.isFrozen else { return }
        loseLease(of: node)
        node.isFrozen = true
        watchLinks(of: node)
    }

    /// Lets a process go on that was stopped.
    func thaw(_ node: SimulatedNode) {
        guard node.isRunning, node.isFrozen else { return }
        node.isFrozen = false
        var held: [NodeEvent] = []
        swap(&held, &node.held)
        // The store has a thread of its own, and learns from the database only later that the owner was deposed.
        for event in held where event.isOfStore {
            var delay = nodeDraws.within(0...5)
            if case .renews = event { delay = nodeDraws.within(1...1_000) }
            after(delay, node, event)
        }
        held.removeAll(where: \.isOfStore)
        if let store = node.store { after(nodeDraws.within(1...400), node, .renews(store: store.number)) }
        node.held = held
        if !node.isReleasing { goOn(node) }
    }

    /// Lets a loop go on: what has arrived is read before overdue deadlines count.
    func goOn(_ node: SimulatedNode) {
        guard node.isRunning, !node.isStopped else { return }
        let life = node.life
        if node === owner {
            checker.serverSince = now
            if node.isServing { if nodeDraws.percent(50) { serve(.deadlineReached) } else { flush() } }
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
