import CallCore
import CallPorts
import Nodes
import SeededRandom

/// The faults of the network between two nodes.
enum PairFault {
    /// Messages wait until the fault ends, and neither side is told.
    case silent
    /// Messages take long.
    case slow
    /// New connections are refused.
    case refusing
}

/// The links between nodes, as `Link` of `Gateway` has them: connections, and messages that keep their order.
final class NodeLinks: Part {
    private let nodes: [SimulatedNode]
    private(set) var all: [NodeLink] = []
    private var linkCount = 0
    /// The faults of the network between two nodes, by the nodes' numbers `low * 8 + high`.
    private(set) var pairFaults: [Int: PairFault] = [:]

    init(_ course: Course, between nodes: [SimulatedNode]) {
        self.nodes = nodes
        super.init(course)
    }

    func fault(between a: Int, _ b: Int) -> PairFault? { pairFaults[min(a, b) * 8 + max(a, b)] }

    /// The connections that one of the node's ends has not ended.
    func open(of node: SimulatedNode) -> [NodeLink] {
        all.filter { link in
            link.ends.contains { $0.node == node.number && $0.life == node.life && !$0.isClosed }
        }
    }

    /// Makes a connection between two nodes.
    func connect(_ node: SimulatedNode, to server: SimulatedNode, as attempt: LinkID) -> NodeLink {
        linkCount += 1
        let link = NodeLink(
            id: linkCount,
            client: .init(node: node.number, life: node.life, number: attempt),
            server: .init(node: server.number, life: server.life)
        )
        all.append(link)
        return link
    }

    func post(_ message: NodeLink.Message, over link: NodeLink, from end: Int) {
        let other = 1 - end
        guard !link.isCut, !link.ends[end].isClosed, !nodes[link.ends[end].node].isOff else { return }
        link.ends[other].arriving.append(message)
        let isSlow = fault(between: link.ends[0].node, link.ends[1].node) == .slow
        let delay = isSlow ? draws.nodes.within(50...400) : draws.nodes.within(1...4)
        let at = max(link.ends[other].until, now + delay)
        link.ends[other].until = at
        plan(.nodeLink(link, end: other), at: at)
    }

    /// Takes the next message of a link that reaches one end; `nil` = there is none, or it waits for the network.
    func nextMessage(of link: NodeLink, to end: Int) -> NodeLink.Message? {
        guard fault(between: link.ends[0].node, link.ends[1].node) != .silent else {
            link.ends[end].stuck += 1
            return nil
        }
        guard !link.ends[end].arriving.isEmpty else { return nil }
        let message = link.ends[end].arriving.removeFirst()
        let node = nodes[link.ends[end].node]
        return node.life == link.ends[end].life && !node.isOff ? message : nil
    }

    /// Ends one end of a link: what was sent before still arrives, and then the other side is told.
    func endLink(_ link: NodeLink, at end: Int) {
        guard !link.ends[end].isClosed else { return }
        post(.end, over: link, from: end)
        link.ends[end].isClosed = true
        if link.ends[1 - end].isClosed { all.removeAll { $0 === link } }
    }

    /// Cuts a link: each side notices it soon, but one side may be told nothing, and notices only the silence.
    func cut(_ link: NodeLink, unnoticedBy untold: Int? = nil) {
        link.isCut = true
        link.isHalfOpen = untold != nil
        for end in link.ends.indices {
            link.ends[end].arriving = []
            guard end != untold else { continue }
            after(
                draws.nodes.within(1...5),
                .node(link.ends[end].node, life: link.ends[end].life, .arrived(link, end: end, .end))
            )
        }
    }

    /// Whether nothing may pass on a link for a while.
    func isImpaired(_ link: NodeLink) -> Bool {
        link.isHalfOpen || fault(between: link.ends[0].node, link.ends[1].node) == .silent
            || link.ends.contains { end in
                let node = nodes[end.node]
                return node.isOff || node.isStopped || node.life != end.life
            }
    }

    /// Begins a fault between two nodes, in place of the present one; returns the number of the pair.
    func disturb(_ a: Int, _ b: Int, by fault: PairFault?) -> Int {
        let pair = min(a, b) * 8 + max(a, b)
        heal(pair)
        pairFaults[pair] = fault
        return pair
    }

    func heal(_ pair: Int) {
        guard pairFaults.removeValue(forKey: pair) == .silent else { return }
        for link in all
        where pair == min(link.ends[0].node, link.ends[1].node) * 8 + max(link.ends[0].node, link.ends[1].node) {
            releaseMessages(of: link)
        }
    }

    func healAll() {
        for pair in pairFaults.keys.sorted() { heal(pair) }
    }

    /// Lets the messages go on that waited for the network between two nodes.
    private func releaseMessages(of link: NodeLink) {
        for place in link.ends.indices {
            for _ in 0..<link.ends[place].stuck { plan(.nodeLink(link, end: place), at: now + 1) }
            if link.ends[place].stuck > 0 { link.ends[place].until = max(link.ends[place].until, now + 1) }
            link.ends[place].stuck = 0
        }
    }
}
