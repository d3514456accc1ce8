import CallCore
import CallPorts
import CallWire
import Cluster
import Crypto
import LibWebSockets
import ServerLog
import Switchboard

/// One node of several: it carries out what its tenure and its attachment decide.
///
/// An *edge* passes the events of its sockets over a link to the owner, and carries out the owner's commands. The
/// *owner* has the switchboard, and handles the events of all nodes. A node begins as an edge, and may become the owner
/// once. It never goes back: a deposed process begins anew, and one that has released the calls ends.
///
/// It is confined to the loop's thread, except the register, which reports from its own threads.
final class Node: LinkDelegate {
    let configuration: NodeConfiguration
    /// The gateway whose node this is; it outlives the node.
    unowned let gateway: Gateway
    let server: Server
    let register: any OwnershipRegister
    let switchboardPorts: SwitchboardPorts
    /// The key with which the nodes prove to each other that they use the same database.
    private let key: [UInt8]
    private var timer: LoopTimer?
    private var timerAt: Moment?
    /// Until when overdue deadlines wait, because the process stood still and first reads what has arrived meanwhile.
    private var graceEnd: Moment?

    var tenure: Tenure
    /// The tie of this node's sockets to the owner; unused once this node serves as the owner.
    var attachment: Attachment
    /// How many connections were closed, and how many requests refused, while too many events waited for an owner.
    var overfullRefused: UInt64 = 0
    /// Whether too many events wait for an owner.
    var isRejectingInput = false

    /// The link to the owner, once it is open, or the link that is being opened.
    var ownerLink: Link?
    var connectAttempt: TCPConnectionAttempt?
    var ownerAttempts = OwnerAttempts()
    /// Whether the owner at the other end of the link says that its store stands still.
    var isOwnerStalled = false

    /// The revocations by this node's operator that the owner has not made durable yet.
    var revocations: [PendingRevocation] = []

    /// Whether this node's clients were told when to reconnect.
    private var hasDrained = false
    /// This node's own connections that the switchboard had when the node's ownership ended, and whether the user of
    /// each was in a call.
    var formerConnections: [(id: SocketID, isInCall: Bool)] = []
    /// This node's own requests without a response.
    var openExchanges: Set<ExchangeID> = []

    /// The store of the claim, until the node has taken it over.
    var claimedStore: ClaimedStore?
    var takeovers: UInt64 = 0
    /// The links that other nodes have opened, by number.
    var edgeLinks: [Int: EdgeLink] = [:]
    /// Accepted links whose other side has not proved itself.
    var unprovenLinks: [Link] = []
    /// When the operator was last told that a node was refused, because there are too many.
    var refusalReportedAt: Moment?
    /// The events of other nodes that wait until this node serves as the owner, in order.
    var eventsBeforeServing: [(link: Int, number: UInt64, event: EdgeEvent)] = []
    /// The newest ticket that was passed to the store, and the newest that is durable.
    var lastTicket: UInt64 = 0
    var durableTicket: UInt64 = 0

    init(
        _ configuration: NodeConfiguration,
        of gateway: Gateway,
        on server: Server,
        register: any OwnershipRegister,
        secret: [UInt8],
        switchboardPorts: SwitchboardPorts
    ) {
        self.configuration = configuration
        self.gateway = gateway
        self.server = server
        self.register = register
        self.switchboardPorts = switchboardPorts
        key = HMACSHA256.code(of: Array("ringline links".utf8), key: secret)
        tenure = Tenure(node: configuration.id)
        attachment = Attachment(at: gateway.now)
    }

    var now: Moment { gateway.now }
    var log: ServerLog { gateway.log }

    /// Whether the node's part in the calls is over.
    var hasEnded: Bool { if case .ended = tenure.state { true } else { false } }

    /// Whether the node takes no more events: its process is to end, or its part in the calls is over.
    var isLeaving: Bool { tenure.isLeaving }

    /// Whether this node decides: it is the owner, and has gathered the other nodes.
    var isServing: Bool { tenure.isServing }

    /// Accepts links.
    func listen() throws(ServerError) {
        _ = try server.listenForStreams(host: configuration.listen.host, port: configuration.listen.port) {
            [unowned self] stream in accept(stream)
        }
    }

    /// Begins to look for the owner; call it on the loop's thread.
    func start() {
        timer = LoopTimer(on: server) { [unowned self] in timerDue() }
        handle(.started)
    }

    // MARK: Tenure

    func handle(_ input: Tenure.Input) {
        var effects: [Tenure.Effect] = []
        tenure.handle(input, at: now, into: &effects)
        for effect in effects { perform(effect) }
    }

    private func perform(_ effect: Tenure.Effect) {
        switch effect {
        case .readRow: register.read()
        case .claim(let epoch, let known): claim(after: epoch, above: known)
        case .gather: becomeOwner()
        case .serve: serve()
        case .release(let epoch, let heir): release(epoch, heir: heir)
        case .drop: drop()
        case .connect(let owner, let address): connect(to: owner, at: address)
        case .attach(let epoch): attach(to: epoch)
        case .disconnect: disconnect()
        case .depose(let epoch): if let ownerLink, ownerLink.isOpen { ownerLink.send(.deposed(by: epoch)) }
        case .announceStall(let isStalled): for edge in edgeLinks.values { edge.link.send(.storeStalled(isStalled)) }
        case .announceRelease(let heir): announceRelease(heir)
        }
    }

    /// Handles a report of the register.
    func handleOwnershipReport(_ report: OwnershipReport) {
        switch report {
        case .row(let row): handle(.rowRead(row))
        case .unreadable(let failure):
            log.debug("the database's record of the owner cannot be read", [.error(UntrustedText(failure.message))])
            handle(.rowUnreadable)
        case .loading: handle(.loading)
        case .claimed(let store):
            claimedStore = store
            handle(.claimed(store.epoch, others: store.others))
        case .claimLost: handle(.claimLost)
        case .claimFailed(let failure):
            log.warning("this node could not claim the calls", [.error(UntrustedText(failure.message))])
            handle(.claimFailed)
        }
    }

    /// Handles a report of the store, after the switchboard.
    func handleStoreReport(_ report: StoreReport) {
        guard let epoch = tenure.ownEpoch else { return }
        switch report {
        case .committed(let ticket): durableTicket = max(durableTicket, ticket.rawValue)
        case .stalled: handle(.storeStalled(epoch, true))
        case .recovered: handle(.storeStalled(epoch, false))
        case .deposed: handle(.commitRefused(epoch))
        case .behind, .damaged, .queryResult: break
        }
    }

    private func claim(after epoch: OwnerEpoch, above known: OwnerEpoch) {
        guard !gateway.isDraining else { return handle(.claimFailed) }
        if epoch < known {
            log.warning(
                "the database has lost claims: a backup was restored, or a standby without them has taken over",
                [.ownership(epoch.rawValue)]
            )
        }
        register.claim(after: epoch, above: known)
    }

    // MARK: Time

    private func timerDue() {
        let late = timerAt.map { now - $0 } ?? .milliseconds(0)
        timerAt = nil
        guard late < .milliseconds(500) || graceEnd != nil else {
            // The process stood still. What has arrived meanwhile is read before any link counts as silent.
            graceEnd = now + .milliseconds(10)
            return
        }
        graceEnd = nil
        for link in links { link.check(at: now) }
        if let due = tenure.deadline, due <= now { handle(.deadlineReached) }
        if let due = attachment.deadline, due <= now {
            if tenure.isLoading { handle(attachment: .ownerComing) }
            handle(attachment: .deadlineReached)
        }
    }

    private var links: [Link] {
        edgeLinks.values.map(\.link) + unprovenLinks + (ownerLink.map { [$0] } ?? [])
    }

    /// Ends a turn of the loop: confirms what is durable, writes to all links, and sets the timer.
    func endTurn() {
        confirmEvents()
        flushLinks()
        var next = links.map(\.deadline).min()
        for deadline in [tenure.deadline, isServing ? nil : attachment.deadline].compactMap(\.self) {
            next = min(next ?? deadline, deadline)
        }
        if let graceEnd { next = next.map { max($0, graceEnd) } }
        guard next != timerAt else { return }
        timerAt = next
        timer?.set(afterMilliseconds: next.map { UInt64(max(1, ($0 - now).milliseconds)) })
    }

    /// Writes to all links.
    func flushLinks() { for link in links { link.flush() } }

    // MARK: LinkDelegate

    func hello(challenge: [UInt8]) -> Hello {
        Hello(
            node: configuration.id,
            epoch: tenure.ownEpoch ?? tenure.newestEpoch,
            isOwner: tenure.ownEpoch != nil,
            challenge: challenge
        )
    }

    func beginLink(_ stream: TCPStream, as side: Hello.Side) -> Link {
        Link(stream, as: side, key: key, delegate: self, at: now)
    }

    func opened(_ link: Link, by peer: Hello) {
        if link === ownerLink {
            log.notice("linked to the owner of the calls", [.node(peer.node.logged), .ownership(peer.epoch.rawValue)])
            ownerAttempts.opened()
            handle(.linkOpened(peer.epoch))
        } else {
            openedEdge(link, peer)
        }
    }

    func received(_ frame: NodeFrame, on link: Link) {
        if link === ownerLink {
            receivedFromOwner(frame)
        } else if let edge = edgeLinks.values.first(where: { $0.link === link }) {
            received(frame, from: edge)
        }
    }

    func ended(_ link: Link, _ end: Link.End) {
        log.debug("a link has ended", [link.peer.map { .node($0.node.logged) }, .linkEnd(ServerText(end.word))])
        if link === ownerLink {
            endedOwnerLink(link, end)
        } else {
            unprovenLinks.removeAll { $0 === link }
            if let edge = edgeLinks.values.first(where: { $0.link === link }) { endedEdge(edge) }
        }
    }

    // MARK: The end

    /// Releases the calls, if the node owns them, and closes this node's connections; the process is to end.
    func drain() {
        server.stopListeningForStreams()
        // The end of the link would close some of an edge's connections without a word about when to reconnect.
        if tenure.ownEpoch == nil { closeOwnConnections() }
        handle(.terminate)
        // While the calls are released, the last acks still go out; the connections are closed after that.
        if case .releasing = tenure.state { return }
        closeOwnConnections()
    }

    /// Closes this node's connections, and responds to the requests that nobody will respond to any more.
    ///
    /// Each device is told when to reconnect, as by a server that is alone.
    func closeOwnConnections() {
        for exchange in openExchanges.sorted(by: { $0.rawValue < $1.rawValue }) { refuse(exchange) }
        drainOwnConnections()
        gateway.closeAll(code: 1001, reason: "the server is shutting down; reconnect")
    }

    private func drainOwnConnections() {
        guard let ownLoop = gateway.ownLoop, !hasDrained else { return }
        hasDrained = true
        var random = SystemRandomNumberGenerator()
        let own = attachment.socketsToDrain.map {
            (id: SocketID(rawValue: $0.id.rawValue), mayBeInCall: $0.mayBeInCall, isWelcome: $0.isWelcome)
        }
        let former = formerConnections.map { (id: $0.id, mayBeInCall: $0.isInCall, isWelcome: true) }
        let order = (own + former).shuffled(using: &random)
        let schedule = ReconnectSchedule(of: order.count, grace: gateway.configuration.policy.grace)
        for (place, socket) in (order.filter(\.mayBeInCall) + order.filter { !$0.mayBeInCall }).enumerated() {
            let delay = schedule.delay(of: place, using: &random)
            // No message comes before `welcome`; then the close reason alone says when to reconnect.
            if socket.isWelcome {
                gateway.send(Frame(withHeadroom: ServerFrame.draining(reconnectAfterMs: delay)), to: socket.id, ownLoop)
            }
            gateway.close(socket.id, code: 1001, reason: ReconnectSchedule.reason(delay))
        }
    }

    // MARK: Figures

    /// Why this node serves no clients; `nil` = it serves them.
    var notReadyReason: String? {
        if hasEnded { return "draining" }
        guard isServing || isReady else { return ownerAttempts.isRefused ? "too many nodes" : "no owner" }
        return isOwnerStalled ? "store unavailable" : nil
    }

    /// Whether the attachment calls the node ready.
    var isReady = false

    var figures: MetricsPage.NodeFigures {
        MetricsPage.NodeFigures(
            isOwner: tenure.ownEpoch != nil,
            isReady: gateway.notReadyReason == nil,
            epoch: tenure.newestEpoch.rawValue,
            takeovers: takeovers,
            links: edgeLinks.count + (ownerLink?.isOpen == true ? 1 : 0),
            unconfirmedEvents: isServing ? 0 : Int(clamping: attachment.unconfirmedCount),
            waitingRefused: overfullRefused + attachment.refusedForShare,
            waitingBytes: isServing ? 0 : attachment.bytesWaiting
        )
    }
}

extension NodeID {
    /// The id as the log shows it; another node has chosen it.
    var logged: UntrustedText { UntrustedText(text) }
}
