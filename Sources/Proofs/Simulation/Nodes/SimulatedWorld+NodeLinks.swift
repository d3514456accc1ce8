import CallCore
import CallPorts
import Cluster
import SeededRandom

/// The links between nodes, as `Link` of `Gateway` has them: connections, handshakes, and messages that keep their
/// order.
extension SimulatedWorld {
    /// The faults of the network between two nodes.
    enum PairFault {
        /// Messages wait until the fault ends, and neither side is told.
        case silent
        /// Messages take long.
        case slow
        /// New connections are refused.
        case refusing
    }

    func fault(between a: Int, _ b: Int) -> PairFault? { pairFaults[min(a, b) * 8 + max(a, b)] }

    /// The connections that one of the node's ends has not ended.
    func links(of node: SimulatedNode) -> [NodeLink] {
        nodeLinks.filter { link in
            link.ends.contains { $0.node == node.number && $0.life == node.life && !$0.isClosed }
        }
    }

    // MARK: Connecting

    func connect(_ node: SimulatedNode, to address: String, as attempt: LinkID) {
        node.attempt = attempt
        guard let number = Int(address), simulatedNodes.indices.contains(number) else {
            return pass(.connectFailed(attempt, reason: "no node has this address"), to: node)
        }
        let server = simulatedNodes[number]
        let fault = fault(between: node.number, number)
        // A machine that is off refuses no connection: the attempt ends by the tenure's own deadline.
        guard fault != .silent, !server.isOff else { return }
        guard fault != .refusing, server.isRunning, !server.isEnding else {
            return after(nodeDraws.within(1...8), node, .connected(attempt, nil))
        }
        nodeLinkCount += 1
        let link = NodeLink(
            id: nodeLinkCount,
            client: .init(node: node.number, life: node.life, number: attempt),
            server: .init(node: number, life: server.life)
        )
        nodeLinks.append(link)
        watch(link)
        after(nodeDraws.within(1...8), node, .connected(attempt, link))
    }

    /// Handles the result of an attempt to connect; `nil` = the connection was refused.
    func connected(_ attempt: LinkID, _ link: NodeLink?, _ node: SimulatedNode) {
        guard attempt == node.attempt else {
            if let link { endLink(link, at: NodeLink.client) }
            return
        }
        node.attempt = nil
        guard let link else { return pass(.connectRefused(attempt), to: node) }
        guard !link.ends[NodeLink.client].isClosed else {
            return pass(.connectFailed(attempt, reason: "the connection was cut"), to: node)
        }
        node.links[attempt] = (link, NodeLink.client)
        post(.hello(node.machine.hello(challenge: [])), over: link, from: NodeLink.client)
        pass(.connected(attempt), to: node)
    }

    /// Ends a link of a node, or the attempt to open it; what was sent before still arrives.
    func close(_ number: LinkID, of node: SimulatedNode) {
        if node.attempt == number { node.attempt = nil }
        if let (link, end) = node.links.removeValue(forKey: number) { endLink(link, at: end) }
    }

    // MARK: Messages

    func send(_ frame: NodeFrame, over link: NodeLink, from end: Int) { post(.frame(frame), over: link, from: end) }

    func post(_ message: NodeLink.Message, over link: NodeLink, from end: Int) {
        let other = 1 - end
        guard !link.isCut, !link.ends[end].isClosed, !simulatedNodes[link.ends[end].node].isOff else { return }
        link.ends[other].arriving.append(message)
        let isSlow = fault(between: link.ends[0].node, link.ends[1].node) == .slow
        let delay = isSlow ? nodeDraws.within(50...400) : nodeDraws.within(1...4)
        let at = max(link.ends[other].until, now + delay)
        link.ends[other].until = at
        events.plan(.nodeLink(link, end: other), at: at)
    }

    /// Passes the next message of a link to the node at one end.
    func deliver(_ link: NodeLink, to end: Int) {
        guard fault(between: link.ends[0].node, link.ends[1].node) != .silent else {
            link.ends[end].stuck += 1
            return
        }
        guard !link.ends[end].arriving.isEmpty else { return }
        let message = link.ends[end].arriving.removeFirst()
        let node = simulatedNodes[link.ends[end].node]
        guard node.life == link.ends[end].life, !node.isOff else { return }
        passToNode(.arrived(link, end: end, message), at: node.number, life: node.life)
    }

    /// Ends one end of a link: what was sent before still arrives, and then the other side is told.
    func endLink(_ link: NodeLink, at end: Int) {
        guard !link.ends[end].isClosed else { return }
        post(.end, over: link, from: end)
        link.ends[end].isClosed = true
        if link.ends[1 - end].isClosed { nodeLinks.removeAll { $0 === link } }
    }

    /// Handles a message of a link.
    func arrived(_ message: NodeLink.Message, over link: NodeLink, at end: Int, _ node: SimulatedNode) {
        guard !link.ends[end].isClosed else { return }
        if link.ends[end].isOpen { link.ends[end].watch?.heard(at: moment(of: node)) }
        switch message {
        case .end: ended(link, at: end, .closed, node)
        case .hello(let hello):
            link.ends[end].peer = hello
            guard end == NodeLink.server else { return }
            post(.hello(node.machine.hello(challenge: [])), over: link, from: end)
            if let refusal = refusal(of: hello, by: node) {
                post(.refused(refusal), over: link, from: end)
                return endLink(link, at: end)
            }
            post(.proof, over: link, from: end)
        case .proof:
            guard let peer = link.ends[end].peer else { return }
            link.ends[end].isOpen = true
            if end == NodeLink.client { post(.proof, over: link, from: end) }
            let number = link.ends[end].number ?? node.machine.nextLink()
            link.ends[end].number = number
            node.links[number] = (link, end)
            pass(.linkOpened(number, peer), to: node)
        case .refused(let refusal): ended(link, at: end, .refused(refusal), node)
        case .frame(.ping(let number)): send(.pong(number), over: link, from: end)
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
    func ended(_ link: NodeLink, at end: Int, _ ending: LinkEnd, _ node: SimulatedNode) {
        endLink(link, at: end)
        guard let number = link.ends[end].number, node.links.removeValue(forKey: number) != nil else { return }
        if end == NodeLink.client { log("\(node.name) loses its link to the owner (\(ending.words))") }
        pass(.linkEnded(number, ending, peer: link.ends[end].peer), to: node)
    }

    // MARK: Silence

    /// Whether nothing may pass on a link for a while.
    private func isImpaired(_ link: NodeLink) -> Bool {
        fault(between: link.ends[0].node, link.ends[1].node) == .silent
            || link.ends.contains { end in
                let node = simulatedNodes[end.node]
                return node.isOff || node.isStopped || node.life != end.life
            }
    }

    /// Begins to watch the links of a node for silence.
    func watchLinks(of node: SimulatedNode) { for link in links(of: node) { watch(link) } }

    /// Begins to watch a link at both ends, if nothing may pass on it.
    func watch(_ link: NodeLink) {
        guard isImpaired(link) else { return }
        for place in link.ends.indices {
            let node = simulatedNodes[link.ends[place].node]
            guard link.ends[place].watch == nil, !link.ends[place].isClosed, node.life == link.ends[place].life else {
                continue
            }
            // The last ping came up to half a second ago.
            let heard = nodeDraws.within(0...500)
            link.ends[place].watch = LinkWatch(at: moment(of: node) + .milliseconds(-heard))
            endTurn(of: node)
        }
    }

    /// Sends a ping if one is due, and ends a link that has been silent for too long.
    func check(_ link: NodeLink, of node: SimulatedNode) {
        for place in link.ends.indices where link.ends[place].node == node.number && !link.ends[place].isClosed {
            guard let watch = link.ends[place].watch else { continue }
            if !isImpaired(link), now >= lastNodeFault + 2_500 {
                link.ends[place].watch = nil
                continue
            }
            _ = watch
            switch link.ends[place].watch?.check(at: moment(of: node)) {
            case .ping(let number)?: if link.ends[place].isOpen { send(.ping(number), over: link, from: place) }
            case .dead?: ended(link, at: place, .silent, node)
            case nil: break
            }
        }
    }

    /// Lets the messages go on that waited for the network between two nodes.
    func releaseMessages(of link: NodeLink) {
        for place in link.ends.indices {
            for _ in 0..<link.ends[place].stuck { events.plan(.nodeLink(link, end: place), at: now + 1) }
            if link.ends[place].stuck > 0 { link.ends[place].until = max(link.ends[place].until, now + 1) }
            link.ends[place].stuck = 0
        }
    }
}
