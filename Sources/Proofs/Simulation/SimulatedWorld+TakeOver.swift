import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// Take-overs: another node takes the calls over, and the sockets of the phones stay open.
///
/// A socket that no earlier owner has left in doubt is adopted by the new owner; every other one is closed, and its
/// client connects again.
extension SimulatedWorld {
    /// The number of nodes.
    static let nodes = 3

    private func node(of index: Int) -> Int { index % Self.nodes }

    /// Makes another node take the calls over: the owner has died, or it lives on without knowing that it was deposed.
    func takeOver() {
        guard let old = switchboard else { return }
        endDeposed()
        statistics.takeOvers += 1
        let keeps = takeOverDraws.percent(50)
        let livesOn = takeOverDraws.percent(60)
        log(
            "another node takes over, the owner \(livesOn ? "lives on" : "is dead"), its writes are \(keeps ? "kept" : "lost")"
        )
        let written = keeps && store.writing > 0 ? store.queue[store.writing - 1].ticket : nil
        if let written { checker.durable(upTo: written) }
        let lost = store.queue.dropFirst(keeps ? store.writing : 0)
        if livesOn { depose(old, losing: lost.map { ($0.changes, $0.ticket) }, written: written) }
        store.crash(keepingWrites: keeps)
        checker.durability.crashed()
        loseOwner(livesOn: livesOn)
        ownerNode = (ownerNode + 1 + takeOverDraws.below(Self.nodes - 1)) % Self.nodes
        after(livesOn ? takeOverDraws.within(20...400) : takeOverDraws.within(50...4_000), .restart)
        // What it had not flushed yet.
        if livesOn { deposedTakes(.deadlineReached) }
    }

    private func depose(
        _ old: SwitchboardBox,
        losing lost: [(changes: [Change], ticket: Ticket)],
        written: Ticket?
    ) {
        var owner = DeposedOwner(
            switchboard: old,
            number: statistics.takeOvers,
            run: run,
            node: ownerNode,
            durability: checker.durability,
            names: checker.calls.mapValues(\.name),
            lastTicket: lastTicket,
            committed: committedTicket
        )
        for batch in lost { owner.refused(batch.changes, as: batch.ticket) }
        deposed = owner
        after(takeOverDraws.within(200...7_000), .deposedEnds(owner.number))
        // Its last commit may have succeeded just before the other node claimed the calls.
        if let written, takeOverDraws.percent(50) {
            after(takeOverDraws.within(1...50), .deposedReport(owner.number, .committed(upTo: written)))
        }
    }

    /// Ends the present run of the server without closing the sockets of the other nodes.
    private func loseOwner(livesOn: Bool) {
        switchboard = nil
        run += 1
        let hangs = (0..<Self.nodes).map { $0 == ownerNode || takeOverDraws.percent(50) }
        for index in links.indices where links[index].isOpenAtServer {
            links[index].isOpenAtServer = false
            let node = node(of: index)
            links[index].edge.isUnconfirmed =
                handed.contains(index) || (links[index].edge.ticket.map { $0 > committedTicket } ?? false)
            if livesOn, hangs[node] {
                links[index].edge.owner = .deposed
            } else if node == ownerNode {
                closeAtEdge(index, code: 1006)
            } else {
                links[index].edge.owner = .none
            }
        }
        handed = []
        checker.tookOver { links[$0].edge.owner != .closed }
        if livesOn, let number = deposed?.number {
            for node in 0..<Self.nodes where hangs[node] && node != ownerNode {
                after(takeOverDraws.within(100...6_000), .leavesDeposed(node: node, number: number))
            }
        }
        endRequests()
    }

    /// Closes a socket that has no owner, or whose owner is deposed.
    func closeAtEdge(_ index: Int, code: UInt16) {
        links[index].edge.owner = .closed
        links[index].edge.waiting = []
        guard links[index].isOpenAtDevice, !links[index].isHalfOpen, !links[index].isClosing else { return }
        links[index].isClosing = true
        log("the node closes socket \(index) of \(devices[links[index].device].id.text), \(code)")
        events.plan(.closeDown(link: index, code: code), at: max(links[index].downUntil, now + latency()))
    }

    /// Handles something that arrives on a socket whose owner is not the present one.
    func arrivesAtEdge(_ item: EdgeState.Waiting, on index: Int) {
        switch links[index].edge.owner {
        case .current, .closed: return
        case .none:
            waitingCount += 1
            links[index].edge.waiting.append((waitingCount, item))
        case .deposed: deposedTakes(item, on: index)
        }
    }

    /// Plans when the nodes find the owner that has just started.
    func planAttachments() {
        guard faults.contains(.takeOver) else { return }
        for node in 0..<Self.nodes { after(takeOverDraws.within(0...300), .attach(node: node, run: run)) }
    }

    /// Makes a node bring its sockets to the owner, and then what has arrived on them meanwhile.
    func attach(_ node: Int, _ run: Int) {
        guard run == self.run, switchboard != nil else { return }
        let mine = links.indices.filter { self.node(of: $0) == node && links[$0].edge.owner == .none }
        for index in mine.sorted(by: { links[$0].openedAt < links[$1].openedAt }) { adopt(index) }
        var waiting: [(order: Int, index: Int, item: EdgeState.Waiting)] = []
        for index in mine {
            waiting += links[index].edge.waiting.map { ($0.order, index, $0.item) }
            links[index].edge.waiting = []
        }
        for one in waiting.sorted(by: { $0.order < $1.order }) {
            switch one.item {
            case .frame(let frame): frameArrives(frame, on: one.index)
            case .pong(let number): ponged(one.index, number)
            }
        }
    }

    private func adopt(_ index: Int) {
        let device = devices[links[index].device]
        let edge = links[index].edge
        if edge.isUnconfirmed || edge.isBound || device.hasExpiredToken {
            closeAtEdge(index, code: device.hasExpiredToken ? 4401 : 1001)
            return
        }
        statistics.adoptions += 1
        log("the owner adopts socket \(index) of \(device.id.text)")
        links[index].run = run
        links[index].isOpenAtServer = true
        links[index].edge.owner = .current
        links[index].edge.ticket = nil
        links[index].edge.adoptedAt = now
        let openFor = Moment.Duration.milliseconds(now - links[index].openedAt)
        let id = ConnectionID(rawValue: UInt64(index))
        serve(.adopted(id, device.principal, device: device.id, assigned: nil, openFor: openFor, seen: edge.marks))
    }

    /// Notes that the frames since the last flush wait for the newest commit.
    func confirmHanded() {
        guard !handed.isEmpty else { return }
        for index in handed { links[index].edge.ticket = lastTicket }
        handed = []
    }
}
