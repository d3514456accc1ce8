import CallCore
import CallPorts
import Nodes
import SeededRandom

/// The end of a fault, or a step of one.
enum NodeFault {
    case starts(node: Int)
    case thaws(node: Int, life: Int)
    case reachesDatabase(node: Int)
    case databaseReturns
    case pairHeals(Int, Int)
    case terminates(node: Int)
}

/// The faults of a server of several nodes.
extension NodesServer {
    /// Injects one of the faults that a fault of a single server stands for.
    func inject(_ fault: Faults) -> Bool {
        guard [.crashes, .restarts, .store, .takeOver].contains(fault) else { return false }
        guard !isHealed else { return true }
        switch fault {
        case .crashes: if let node = pickNode() { kill(node, machine: draws.nodes.percent(25)) }
        case .restarts:
            guard draws.nodes.percent(30) else {
                if let node = pickNode() { terminate(node) }
                break
            }
            for number in 0..<scenario.nodeCount { after(Int64(number) * 4_000, .nodeFault(.terminates(node: number))) }
        case .store: loseDatabase()
        default: disturb()
        }
        return true
    }

    /// Chooses a node that runs; half of the time the owner.
    private func pickNode() -> SimulatedNode? {
        if let owner, draws.nodes.percent(50) { return owner }
        let running = nodes.filter(\.isRunning)
        return running.isEmpty ? nil : running[draws.nodes.below(running.count)]
    }

    /// Kills a process, or turns its machine off; it is started again.
    private func kill(_ node: SimulatedNode, machine: Bool) {
        statistics.crashes += 1
        lastFault = now
        log("\(node.name) \(machine ? "is switched off" : "is killed")")
        noteDeath(of: node)
        database.loseLease(of: node)
        if let store = node.store, store.underWay > 0, !store.isInDoubt, database.isReached(from: node),
            database.row.epoch == store.epoch,
            draws.nodes.percent(50)
        {
            commit(store, node)
        }
        node.isOff = machine
        watchLinks(of: node)
        end(node, code: nil)
        after(
            machine ? draws.nodes.within(2_000...8_000) : draws.nodes.within(50...4_000),
            .nodeFault(.starts(node: node.number))
        )
    }

    /// Ends a process in order: an owner releases the calls to another node.
    private func terminate(_ node: SimulatedNode) {
        guard node.isRunning, !node.isEnding, !node.isStopped else { return }
        lastFault = now
        log("\(node.name) is to end")
        node.isEnding = true
        pass(.terminate, to: node)
        endTurn(of: node)
        after(draws.nodes.within(500...3_000), .nodeFault(.starts(node: node.number)))
    }

    private func loseDatabase() {
        guard !database.isAway else { return }
        let isSilent = draws.nodes.percent(40)
        log("the database \(isSilent ? "does not answer" : "fails over")")
        for node in nodes { database.loseLease(of: node) }
        database.isAway = true
        for node in nodes { databaseChanged(for: node, isSilent: isSilent) }
        after(draws.nodes.within(200...(isSilent ? 4_000 : 6_000)), .nodeFault(.databaseReturns))
    }

    /// Disturbs a node or the network between two nodes.
    private func disturb() {
        lastFault = now
        let running = nodes.filter(\.isRunning)
        guard let node = pickNode() else { return }
        let others = running.filter { $0 !== node }
        switch draws.nodes.below(8) {
        case 0, 1:
            let span = draws.nodes.percent(50) ? draws.nodes.within(3_000...8_000) : draws.nodes.within(200...3_000)
            log("\(node.name) stands still for \(span) ms")
            freeze(node)
            after(span, .nodeFault(.thaws(node: node.number, life: node.life)))
        case 2, 3:
            let span = draws.nodes.within(300...8_000)
            log("\(node.name) is cut off from the database for \(span) ms")
            database.loseLease(of: node)
            node.isCutFromDatabase = true
            databaseChanged(for: node, isSilent: draws.nodes.percent(60))
            after(span, .nodeFault(.reachesDatabase(node: node.number)))
        default:
            guard !others.isEmpty else { return }
            disturbLink(of: node, to: others[draws.nodes.below(others.count)])
        }
    }

    private func disturbLink(of node: SimulatedNode, to other: SimulatedNode) {
        let faults: [PairFault?] = [.silent, .silent, .slow, .refusing, nil]
        let fault = faults[draws.nodes.below(faults.count)]
        let isHalf = fault == nil && self.faults.contains(.halfCuts)
        log("between \(node.name) and \(other.name): \(fault.map { "\($0)" } ?? "cut")")
        let pair = nodeLinks.disturb(node.number, other.number, by: fault)
        let between = nodeLinks.open(of: node).filter { link in link.ends.contains { $0.node == other.number } }
        for link in between {
            if fault == nil || fault == .refusing {
                nodeLinks.cut(link, unnoticedBy: isHalf ? draws.nodes.below(2) : nil)
            }
            if fault == .silent || isHalf { watch(link) }
        }
        if fault != nil { after(draws.nodes.within(200...6_000), .nodeFault(.pairHeals(pair / 8, pair % 8))) }
    }

    /// Takes the next step of a fault, or ends it.
    func continueFault(_ fault: NodeFault) {
        lastFault = now
        switch fault {
        case .starts(let number):
            let node = nodes[number]
            // A process that is still releasing the calls, or draining, is waited for.
            guard !node.isRunning || !node.isEnding else { return after(300, .nodeFault(fault)) }
            node.isOff = false
            begin(node)
        case .thaws(let number, let life):
            let node = nodes[number]
            guard node.life == life, node.isFrozen else { return }
            log("\(node.name) goes on")
            thaw(node)
        case .reachesDatabase(let number):
            let node = nodes[number]
            guard node.isCutFromDatabase else { return }
            node.isCutFromDatabase = false
            log("\(node.name) reaches the database")
            databaseChanged(for: node, isSilent: false)
        case .databaseReturns:
            guard database.isAway else { return }
            database.isAway = false
            log("the database is back")
            for node in nodes { databaseChanged(for: node, isSilent: false) }
        case .pairHeals(let a, let b): nodeLinks.heal(a * 8 + b)
        case .terminates(let number): if !isHealed { terminate(nodes[number]) }
        }
    }

    /// Ends all faults of nodes.
    func endFaults() {
        continueFault(.databaseReturns)
        nodeLinks.healAll()
        for node in nodes {
            continueFault(.reachesDatabase(node: node.number))
            continueFault(.thaws(node: node.number, life: node.life))
            node.isOff = false
            if !node.isRunning { begin(node) }
        }
    }

    /// Begins a run of a node.
    func begin(_ node: SimulatedNode) {
        guard !node.isRunning, !node.isOff else { return }
        node.life += 1
        node.id = NodeID("n\(node.number)-\(node.life)") ?? node.id
        let range: Int64 = faults.contains(.leaps) ? 20_000 : 150
        node.ahead = draws.nodes.within(-range...range)
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

    /// Stops a process with all its threads.
    private func freeze(_ node: SimulatedNode) {
        guard node.isRunning, !node.isFrozen else { return }
        database.loseLease(of: node)
        node.isFrozen = true
        watchLinks(of: node)
    }
}
