import CallCore
import CallPorts
import Cluster
import SeededRandom

/// The faults of a server of several nodes.
extension SimulatedWorld {
    /// The end of a fault, or a step of one.
    enum NodeFault {
        case starts(node: Int)
        case thaws(node: Int, life: Int)
        case reachesDatabase(node: Int)
        case databaseReturns
        case pairHeals(Int, Int)
        case terminates(node: Int)
    }

    /// Injects one of the faults that a fault of a single server stands for.
    func applyToNodes(_ fault: Faults) {
        switch fault {
        case .crashes: if let node = pickNode() { kill(node, machine: nodeDraws.percent(25)) }
        case .restarts:
            guard nodeDraws.percent(30) else {
                if let node = pickNode() { terminate(node) }
                return
            }
            for number in 0..<nodeCount { after(Int64(number) * 4_000, .nodeFault(.terminates(node: number))) }
        case .store: loseDatabase()
        case .takeOver: disturb()
        default: break
        }
    }

    /// Chooses a node that runs; half of the time the owner.
    private func pickNode() -> SimulatedNode? {
        if let owner, nodeDraws.percent(50) { return owner }
        let running = simulatedNodes.filter(\.isRunning)
        return running.isEmpty ? nil : running[nodeDraws.below(running.count)]
    }

    /// Kills a process, or turns its machine off; it is started again.
    private func kill(_ node: SimulatedNode, machine: Bool) {
        statistics.crashes += 1
        lastNodeFault = now
        log("\(node.name) \(machine ? "is switched off" : "is killed")")
        noteDeath(of: node)
        loseLease(of: node)
        if let store = node.store, store.underWay > 0, !store.isInDoubt, reachesDatabase(node),
            row.epoch == store.epoch,
            nodeDraws.percent(50)
        {
            commit(store, node)
        }
        node.isOff = machine
        watchLinks(of: node)
        end(node, code: nil)
        after(
            machine ? nodeDraws.within(2_000...8_000) : nodeDraws.within(50...4_000),
            .nodeFault(.starts(node: node.number))
        )
    }

    /// Ends a process in order: an owner releases the calls to another node.
    private func terminate(_ node: SimulatedNode) {
        guard node.isRunning, !node.isEnding, !node.isStopped else { return }
        lastNodeFault = now
        log("\(node.name) is to end")
        node.isEnding = true
        pass(.terminate, to: node)
        endTurn(of: node)
        after(nodeDraws.within(500...3_000), .nodeFault(.starts(node: node.number)))
    }

    private func loseDatabase() {
        guard !isDatabaseAway else { return }
        let isSilent = nodeDraws.percent(40)
        log("the database \(isSilent ? "does not answer" : "fails over")")
        for node in simulatedNodes { loseLease(of: node) }
        isDatabaseAway = true
        for node in simulatedNodes { databaseChanged(for: node, isSilent: isSilent) }
        after(nodeDraws.within(200...(isSilent ? 4_000 : 6_000)), .nodeFault(.databaseReturns))
    }

    /// Disturbs a node or the network between two nodes.
    private func disturb() {
        lastNodeFault = now
        let running = simulatedNodes.filter(\.isRunning)
        guard let node = pickNode() else { return }
        let others = running.filter { $0 !== node }
        switch nodeDraws.below(8) {
        case 0, 1:
            let span = nodeDraws.percent(50) ? nodeDraws.within(3_000...8_000) : nodeDraws.within(200...3_000)
            log("\(node.name) stands still for \(span) ms")
            freeze(node)
            after(span, .nodeFault(.thaws(node: node.number, life: node.life)))
        case 2, 3:
            let span = nodeDraws.within(300...8_000)
            log("\(node.name) is cut off from the database for \(span) ms")
            loseLease(of: node)
            node.isCutFromDatabase = true
            databaseChanged(for: node, isSilent: nodeDraws.percent(60))
            after(span, .nodeFault(.reachesDatabase(node: node.number)))
        default:
            guard !others.isEmpty else { return }
            disturbLink(of: node, to: others[nodeDraws.below(others.count)])
        }
    }

    private func disturbLink(of node: SimulatedNode, to other: SimulatedNode) {
        let pair = min(node.number, other.number) * 8 + max(node.number, other.number)
        let faults: [PairFault?] = [.silent, .silent, .slow, .refusing, nil]
        let fault = faults[nodeDraws.below(faults.count)]
        log("between \(node.name) and \(other.name): \(fault.map { "\($0)" } ?? "cut")")
        // A fault that is under way there is replaced by the new one.
        heal(pair)
        pairFaults[pair] = fault
        let between = links(of: node).filter { link in link.ends.contains { $0.node == other.number } }
        for link in between {
            if fault == .silent { watch(link) }
            guard fault == nil || fault == .refusing else { continue }
            link.isCut = true
            for end in link.ends.indices {
                link.ends[end].arriving = []
                after(
                    nodeDraws.within(1...5),
                    .node(link.ends[end].node, life: link.ends[end].life, .arrived(link, end: end, .end))
                )
            }
        }
        if fault != nil { after(nodeDraws.within(200...6_000), .nodeFault(.pairHeals(pair / 8, pair % 8))) }
    }

    private func heal(_ pair: Int) {
        lastNodeFault = now
        guard pairFaults.removeValue(forKey: pair) == .silent else { return }
        for link in nodeLinks
        where pair == min(link.ends[0].node, link.ends[1].node) * 8 + max(link.ends[0].node, link.ends[1].node) {
            releaseMessages(of: link)
        }
    }

    /// Takes the next step of a fault, or ends it.
    func continueFault(_ fault: NodeFault) {
        lastNodeFault = now
        switch fault {
        case .starts(let number):
            let node = simulatedNodes[number]
            // A process that is still releasing the calls, or draining, is waited for.
            guard !node.isRunning || !node.isEnding else { return after(300, .nodeFault(fault)) }
            node.isOff = false
            begin(node)
        case .thaws(let number, let life):
            let node = simulatedNodes[number]
            guard node.life == life, node.isFrozen else { return }
            log("\(node.name) goes on")
            thaw(node)
        case .reachesDatabase(let number):
            let node = simulatedNodes[number]
            guard node.isCutFromDatabase else { return }
            node.isCutFromDatabase = false
            log("\(node.name) reaches the database")
            databaseChanged(for: node, isSilent: false)
        case .databaseReturns:
            guard isDatabaseAway else { return }
            isDatabaseAway = false
            log("the database is back")
            for node in simulatedNodes { databaseChanged(for: node, isSilent: false) }
        case .pairHeals(let a, let b): heal(a * 8 + b)
        case .terminates(let number): if !isHealed { terminate(simulatedNodes[number]) }
        }
    }

    /// Ends all faults of nodes.
    func endNodeFaults() {
        continueFault(.databaseReturns)
        for pair in pairFaults.keys.sorted() { heal(pair) }
        pairFaults = [:]
        for node in simulatedNodes {
            continueFault(.reachesDatabase(node: node.number))
            continueFault(.thaws(node: node.number, life: node.life))
            node.isOff = false
            if !node.isRunning { begin(node) }
        }
    }
}
