import CallCore
import CallPorts
import SeededRandom
import Testing

@testable import Nodes

/// Three nodes with a database between them, in simulated time: tenures, links with delay, cuts and silence, nodes that
/// die, and nodes that stand still and go on.
struct TenureWorld {
    /// Something that happens at a moment.
    enum Action {
        /// An input for this run of a node.
        case input(NodeID, Tenure.Input)
        /// A request of this run of a node reaches the database.
        case query(NodeID, Query)
        /// A connection attempt of a node reaches the process at an address.
        case connect(NodeID, attempt: Int, expecting: NodeID, address: Int)
        /// A node's sockets have been brought to the other end of its link.
        case attached(NodeID, link: Int)
        /// An input from the link that a node opened with this attempt; it is lost if the node has ended the link.
        case fromLink(NodeID, attempt: Int, Tenure.Input)
        case tick
    }

    enum Query {
        case read
        case claim(after: OwnerEpoch, above: OwnerEpoch)
        /// The calls of a claim that was carried out are read.
        case load(OwnerEpoch)
        case commit(OwnerEpoch)
        case release(OwnerEpoch, heir: NodeID?)
    }

    /// The store of a claim: it commits, renews the lease, and reports a stall, until it is released or dropped.
    struct Store {
        let epoch: OwnerEpoch
        var lastCommit: Int64
        /// Since when a commit has been under way.
        var committingSince: Int64?
        var isStalled = false
        var isClosing = false
        /// Since when the node's tenure has not owned the store's calls.
        var unownedSince: Int64?
    }

    struct Node {
        var id: NodeID
        var tenure: Tenure
        var isAlive = true
        var pausedUntil: Int64 = 0
        var databaseCutUntil: Int64 = 0
        /// The inputs that wait while the node stands still.
        var held: [Action] = []
        /// The number of the attempt to connect; a report about an earlier one is not passed on.
        var link: Int?
        var attempt = 0
        var stores: [Store] = []
        var eligibleSince: Int64 = 0
    }

    struct Link {
        let client: NodeID
        let server: NodeID
        let attempt: Int
        var clientWatch: LinkWatch
        var serverWatch: LinkWatch
    }

    static let lease: Int64 = 3_000
    static let renewal: Int64 = 1_000
    static let stall: Int64 = 3_000

    var random: SeededGenerator
    var now: Int64 = 1_000_000
    var nodes: [Node] = []
    var links: [Int: Link] = [:]
    /// The actions to come, with the next one last.
    var events: [(at: Int64, order: Int, action: Action)] = []
    var order = 0
    var runs = 0
    /// Until when nothing passes between two nodes, by the pair `low * 3 + high`.
    var cutUntil: [Int: Int64] = [:]

    // The database.
    var row: OwnerRow
    var leaseUntil: Int64 = 0
    var databaseDownUntil: Int64 = 0
    /// Whether the database compares the epoch at each commit; `false` is a bug that the checks must find.
    var isFenced = true

    // The findings.
    var commits: [OwnerEpoch: Set<NodeID>] = [:]
    var newestCommit = OwnerEpoch.none
    var claims = 0
    /// The claims whose result was a failure though the row was changed.
    var failedClaims = 0
    /// The tenures that began because the one before was deposed.
    var renewedTenures = 0
    var commitCount = 0
    var refusals = 0
    var lastServed: Int64 = 0
    var lastFault: Int64 = 0
    var longestGap: Int64 = 0
    var findings: [String] = []
    var log: [String] = []

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        row = OwnerRow(epoch: .none, node: nil, address: "", lease: .milliseconds(0))
        lastServed = now
        lastFault = now
        for index in 0..<3 {
            let id = try #require(NodeID("n\(index)-0"))
            nodes.append(Node(id: id, tenure: Tenure(node: id), eligibleSince: now))
            plan(.input(id, .started), after: Int64(random.below(50)))
        }
        plan(.tick, after: 1)
    }

    // MARK: Time

    var moment: Moment { Moment(milliseconds: now) }

    mutating func plan(_ action: Action, after delay: Int64) {
        order += 1
        let at = now + delay
        var low = 0
        var high = events.count
        while low < high {
            let middle = (low + high) / 2
            if events[middle].at > at { low = middle + 1 } else { high = middle }
        }
        events.insert((at, order, action), at: low)
    }

    mutating func delay() -> Int64 { Int64(1 + random.below(random.below(20) == 0 ? 60 : 8)) }

    mutating func note(_ text: String) {
        log.append("\(now): \(text)")
        if log.count > 60 { log.removeFirst() }
    }

    /// Runs until a moment.
    mutating func run(until end: Int64) {
        while let event = events.last, event.at <= end, findings.isEmpty {
            events.removeLast()
            now = max(now, event.at)
            perform(event.action)
        }
        now = end
    }

    func index(_ id: NodeID) -> Int? { nodes.firstIndex { $0.id == id && $0.isAlive } }

    func isPaused(_ node: Int) -> Bool { nodes[node].pausedUntil > now }

    func isCut(_ a: Int, _ b: Int) -> Bool { cutUntil[min(a, b) * 3 + max(a, b)] ?? 0 > now }

    func reachesDatabase(_ node: Int) -> Bool { nodes[node].databaseCutUntil <= now && databaseDownUntil <= now }

    mutating func perform(_ action: Action) {
        switch action {
        case .input(let id, let input): if let node = awake(id, action) { give(input, to: node) }
        case .fromLink(let id, let attempt, let input):
            if let node = awake(id, action), nodes[node].attempt == attempt { give(input, to: node) }
        case .query(let id, let query): answer(query, of: id)
        case .connect(let id, let attempt, let expecting, let address): connected(id, attempt, expecting, address)
        case .attached(let id, let link):
            guard let link = links[link], link.client == id, let server = awake(link.server, action) else { return }
            give(.nodeAttached(id), to: server)
        case .tick:
            tick()
            plan(.tick, after: 20)
        }
    }

    // MARK: Nodes

    /// Returns a node that is alive; if it stands still, it is passed the action later.
    private mutating func awake(_ id: NodeID, _ action: Action) -> Int? {
        guard let node = index(id) else { return nil }
        guard isPaused(node) else { return node }
        nodes[node].held.append(action)
        return nil
    }

    mutating func give(_ input: Tenure.Input, to node: Int) {
        if case .claimed(let epoch, _) = input { nodes[node].stores.append(Store(epoch: epoch, lastCommit: now)) }
        var effects: [Tenure.Effect] = []
        let before = nodes[node].tenure.state
        nodes[node].tenure.handle(input, at: moment, into: &effects)
        let after = nodes[node].tenure.state
        if before != after { note("\(nodes[node].id.text): \(after)") }
        for effect in effects { carryOut(effect, node) }
        if before != after, case .ended(let ending) = after { ended(ending, node) }
    }

    private mutating func ended(_ ending: Tenure.Ending, _ node: Int) {
        guard !nodes[node].tenure.isTerminating else { return }
        if case .deposed = ending {} else { findings.append("a tenure ended by itself: \(ending)") }
        // The process begins anew. Results for the earlier tenure may still come.
        renewedTenures += 1
        nodes[node].attempt += 1
        nodes[node].tenure = Tenure(node: nodes[node].id)
        plan(.input(nodes[node].id, .started), after: delay())
    }

    private mutating func carryOut(_ effect: Tenure.Effect, _ node: Int) {
        let id = nodes[node].id
        switch effect {
        case .readRow: plan(.query(id, .read), after: delay())
        case .claim(let epoch, let known): plan(.query(id, .claim(after: epoch, above: known)), after: delay())
        case .gather, .attach: break
        case .serve(let epoch): startCommit(epoch, node)
        case .release(let epoch, let heir):
            guard let store = nodes[node].stores.firstIndex(where: { $0.epoch == epoch }) else {
                findings.append("\(id.text) releases \(epoch.rawValue), which it does not have")
                return
            }
            nodes[node].stores[store].isClosing = true
            plan(.query(id, .release(epoch, heir: heir)), after: delay())
        case .drop(let epoch):
            nodes[node].stores.removeAll { $0.epoch == epoch }
            endLinks(of: node)
        case .connect(let owner, let address):
            if nodes[node].link != nil { findings.append("\(id.text) connects though it has a link") }
            nodes[node].attempt += 1
            let attempt = nodes[node].attempt
            plan(.connect(id, attempt: attempt, expecting: owner, address: Int(address) ?? 0), after: delay())
        case .disconnect:
            nodes[node].attempt += 1
            if let link = nodes[node].link { endLink(link, by: id) }
        case .depose(let epoch):
            guard let link = nodes[node].link.flatMap({ links[$0] }) else { return }
            guard let server = index(link.server), !isCut(node, server) else { return }
            plan(.input(link.server, .heardOf(epoch)), after: delay())
        case .announceStall(let isStalled):
            for link in links.values.sorted(by: { $0.client < $1.client }) where link.server == id {
                send(.ownerStalled(isStalled), over: link)
            }
        case .announceRelease(let heir):
            for link in links.values.sorted(by: { $0.client < $1.client }) where link.server == id {
                send(.ownerReleased(heir: heir), over: link)
            }
        }
    }

    private mutating func send(_ input: Tenure.Input, over link: Link) {
        guard let server = index(link.server), let client = index(link.client), !isCut(server, client) else { return }
        plan(.fromLink(link.client, attempt: link.attempt, input), after: delay())
    }

    // MARK: Time passes

    mutating func tick() {
        for node in nodes.indices where nodes[node].isAlive && !isPaused(node) {
            if nodes[node].pausedUntil > 0 {
                // An owner that goes on accepts links again, and only later finds that it cannot reach the database.
                nodes[node].pausedUntil = 0
                lastFault = now
            }
            let held = nodes[node].held
            nodes[node].held = []
            for action in held { perform(action) }
            if let deadline = nodes[node].tenure.deadline, deadline <= moment { give(.deadlineReached, to: node) }
            if case .owning(let epoch) = nodes[node].tenure.state, random.below(20) == 0 { startCommit(epoch, node) }
            tendStores(of: node)
        }
        watchLinks()
        checkService()
    }

    mutating func checkService() {
        var isEligible = false
        for node in nodes.indices {
            guard nodes[node].isAlive, !isPaused(node), reachesDatabase(node), !nodes[node].tenure.isTerminating else {
                nodes[node].eligibleSince = now
                continue
            }
            if now - nodes[node].eligibleSince >= 5_000 { isEligible = true }
            if case .owning(row.epoch) = nodes[node].tenure.state { lastServed = now }
        }
        guard isEligible, now - lastFault >= 5_000 else { return }
        longestGap = max(longestGap, now - max(lastServed, lastFault))
        if now - max(lastServed, lastFault) > 5_000 { findings.append("no owner has served for 5 s") }
    }
}
