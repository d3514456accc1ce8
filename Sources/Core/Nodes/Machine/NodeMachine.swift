package import CallCore
package import CallPorts

/// One node of several: everything that it decides, without a socket, a clock or a database.
///
/// An *edge* passes the events of its sockets over a link to the owner, and carries out the owner's commands. The
/// *owner* has the switchboard, and handles the events of all nodes. A node begins as an edge, and may become the owner
/// once. It never goes back: a deposed process re-executes, and one that has released the calls ends.
///
/// Its shell, which is `Node` in the server and a simulated node in the simulator, passes in what happens and carries
/// out the effects in order. An input that comes while effects are carried out is handled at once, and its effects are
/// carried out after those.
package struct NodeMachine: Sendable {
    /// The owner's record of a link to another node.
    struct Edge: Sendable {
        let link: LinkID
        let node: NodeID
        /// The node's open sockets and its requests without a response, by the node's own numbers.
        var sockets: Set<SocketID> = []
        var requests: Set<RequestID> = []
        /// The node's events that were handled, and what was confirmed of them.
        var confirmations = EventConfirmations()
        /// The mark of the frame that follows, and its receiver.
        var nextMark: (socket: UInt64, mark: LogMark)?
    }

    /// The link to the owner, or the attempt to open one.
    struct OwnerLink: Sendable {
        enum Phase { case connecting, proving, open }
        let id: LinkID
        var phase = Phase.connecting
        var beganAt: Moment
    }

    /// When the node claims the calls, and whom it follows.
    package internal(set) var tenure: Tenure
    /// The tie of this node's sockets to the owner; unused while this node serves as the owner.
    package internal(set) var attachment: Attachment
    var ownerAttempts = OwnerAttempts()
    var ownerLink: OwnerLink?
    var lastLink: UInt64 = 0
    /// The links that other nodes have opened, by their ``LinkNumber``.
    var edges: [Int: Edge] = [:]
    /// The events of other nodes that wait until this node serves as the owner, in order.
    var eventsBeforeServing: [(link: Int, number: UInt64, event: SocketEvent)] = []
    /// Whether the calls of a claim were read, and the node has not begun with them.
    var hasUnusedClaim = false
    /// The revocations by this node's operator that the owner has not made durable yet.
    var revocations: [PendingRevocation] = []
    /// Whether too many events wait for an owner.
    var isRejectingInput = false
    /// Whether the owner reports a stalled store.
    var isOwnerStalled = false
    /// When the operator was last told that a node was refused, because there are too many.
    var refusalReportedAt: Moment?
    /// How many connections were closed, and how many requests refused, while too many events waited for an owner.
    var overfullRefused: UInt64 = 0

    /// How far the wall clock, by which moments are counted on links, is ahead of this node's clock.
    package var clockLead = Moment.Duration.milliseconds(0)
    /// How far the wall clock is behind this node's clock.
    var clockLag: Moment.Duration { .milliseconds(-clockLead.milliseconds) }
    /// The newest ticket that was passed to the store.
    package var lastTicket: UInt64 = 0
    /// The newest ticket that is durable.
    package internal(set) var durableTicket: UInt64 = 0
    /// How often this node has begun to own the calls.
    package internal(set) var takeovers: UInt64 = 0
    /// Whether the attachment calls the node ready.
    package internal(set) var isReady = false

    /// Creates the machine of a node that starts.
    package init(node: NodeID, at now: Moment) {
        tenure = Tenure(node: node)
        attachment = Attachment(at: now)
    }

    // MARK: State

    /// Whether the node's part in the calls is over.
    package var hasEnded: Bool { if case .ended = tenure.state { true } else { false } }

    /// Why this node serves no clients; `nil` = it serves them.
    package var notReadyReason: String? {
        if hasEnded { return "draining" }
        guard tenure.isServing || isReady else { return ownerAttempts.isRefused ? "too many nodes" : "no owner" }
        return isOwnerStalled ? "store unavailable" : nil
    }

    /// The link to the owner, which may not be open yet; `nil` = there is none.
    package var ownerLinkID: LinkID? { ownerLink?.id }

    /// The links that are open.
    package var linkCount: Int { edges.count + (ownerLink?.phase == .open ? 1 : 0) }

    /// How many connections were closed, and how many requests refused, because too much waited for an owner.
    package var waitingRefused: UInt64 { overfullRefused + attachment.refusedForShare }

    /// The next moment at which the shell passes in ``Input/deadlineReached``; `nil` = none.
    package var deadline: Moment? {
        let attached = tenure.isServing ? nil : attachment.deadline
        guard let tenured = tenure.deadline else { return attached }
        return attached.map { min($0, tenured) } ?? tenured
    }

    /// The node's hello, with a challenge.
    package func hello(challenge: [UInt8]) -> Hello {
        Hello(
            node: tenure.node,
            epoch: tenure.ownEpoch ?? tenure.newestEpoch,
            isOwner: tenure.ownEpoch != nil,
            challenge: challenge
        )
    }

    /// The number of the next link; the shell takes one for each link that another node opens.
    package mutating func nextLink() -> LinkID {
        lastLink += 1
        return LinkID(rawValue: lastLink)
    }

    // MARK: Inputs

    /// Handles an input at a moment, and appends the effects.
    package mutating func handle(_ input: Input, at now: Moment, into effects: inout [Effect]) {
        switch input {
        case .started: pass(.started, now, &effects)
        case .deadlineReached: reachDeadlines(now, &effects)
        case .terminate: terminate(now, &effects)
        case .rowRead(let row): pass(row.map { .rowRead($0) } ?? .rowUnreadable, now, &effects)
        case .loading: pass(.loading, now, &effects)
        case .claimed(let epoch, let others):
            hasUnusedClaim = true
            pass(.claimed(epoch, others: others), now, &effects)
        case .claimLost: pass(.claimLost, now, &effects)
        case .claimFailed: pass(.claimFailed, now, &effects)
        case .stored(let report): stored(report, now, &effects)
        case .released(let epoch): pass(.released(epoch), now, &effects)
        case .connected(let link): connected(link, now, &effects)
        case .connectRefused(let link): connectEnded(link, .linkRefused, "connection refused", now, &effects)
        case .connectFailed(let link, let reason):
            if link == ownerLink?.id { effects.append(.note(.connectFailed(reason: reason))) }
            connectEnded(link, .linkFailed, reason, now, &effects)
        case .linkOpened(let link, let peer): linkOpened(link, peer, now, &effects)
        case .frameReceived(let link, let frame): frameReceived(frame, on: link, now, &effects)
        case .linkEnded(let link, let end, let peer): linkEnded(link, end, peer, now, &effects)
        case .eventTooLarge(let event, let response): tooLarge(event, response, now, &effects)
        case .socketEvent(let event, let isLinkFull): socketEvent(event, isLinkFull, now, &effects)
        case .revocationAsked(let user, let moment, let id):
            revocations.append(PendingRevocation(user: user, moment: moment + clockLead, asker: .operatorHere(id)))
            if attachment.epoch != nil, let link = openOwnerLink, let frame = revocations.last?.frame {
                effects.append(.send(link, frame))
            }
        case .revocationDurable(let revocation): revocationDurable(revocation, &effects)
        case .revoked(let user, let moment):
            sendToEdges(.command(.revoke(user, upTo: moment + clockLead)), &effects)
        }
    }

    private mutating func reachDeadlines(_ now: Moment, _ effects: inout [Effect]) {
        if let due = tenure.deadline, due <= now { pass(.deadlineReached, now, &effects) }
        if !tenure.isServing, let due = attachment.deadline, due <= now {
            if tenure.isLoading { pass(attachment: .ownerComing, now, &effects) }
            pass(attachment: .deadlineReached, now, &effects)
        }
    }

    private mutating func stored(_ report: StoreReport, _ now: Moment, _ effects: inout [Effect]) {
        guard let epoch = tenure.ownEpoch else { return }
        switch report {
        case .committed(let ticket): durableTicket = max(durableTicket, ticket.rawValue)
        case .stalled: pass(.storeStalled(epoch, true), now, &effects)
        case .recovered: pass(.storeStalled(epoch, false), now, &effects)
        case .deposed: pass(.commitRefused(epoch), now, &effects)
        case .behind, .damaged, .queryResult: break
        }
    }

    // MARK: Tenure

    mutating func pass(_ input: Tenure.Input, _ now: Moment, _ effects: inout [Effect]) {
        var decided: [Tenure.Effect] = []
        tenure.handle(input, at: now, into: &decided)
        for effect in decided { perform(effect, now, &effects) }
    }

    private mutating func perform(_ effect: Tenure.Effect, _ now: Moment, _ effects: inout [Effect]) {
        switch effect {
        case .readRow: effects.append(.readRow)
        case .claim(let epoch, let known):
            if epoch < known { effects.append(.note(.claimsLost(epoch))) }
            effects.append(.claim(after: epoch, above: known))
        case .gather(let epoch): becomeOwner(epoch, &effects)
        case .serve(let epoch): serve(epoch, now, &effects)
        case .release(let epoch, let heir): release(epoch, heir: heir, &effects)
        case .drop: drop(&effects)
        case .connect(let owner, let address): connect(to: owner, at: address, now, &effects)
        case .attach(let epoch):
            pass(attachment: .attached(epoch), now, &effects)
            guard let link = openOwnerLink else { return }
            for revocation in revocations { effects.append(.send(link, revocation.frame)) }
        case .disconnect: disconnect(now, &effects)
        case .depose(let epoch): if let link = openOwnerLink { effects.append(.send(link, .deposed(by: epoch))) }
        case .announceStall(let isStalled): sendToEdges(.storeStalled(isStalled), &effects)
        case .announceRelease(let heir):
            confirmEvents(hasChanges: false, into: &effects)
            for (_, edge) in sortedEdges {
                effects.append(.send(edge.link, .released(heir: heir)))
                effects.append(.closeAfterWriting(edge.link))
            }
            edges = [:]
        }
    }

    // MARK: The end of the process

    private mutating func terminate(_ now: Moment, _ effects: inout [Effect]) {
        // The end of the link would close some of an edge's connections without a word about when to reconnect.
        if tenure.ownEpoch == nil { closeOwnSockets(&effects) }
        pass(.terminate, now, &effects)
        // While the calls are released, the last acks still go out; the connections are closed after that.
        if case .releasing = tenure.state { return }
        closeOwnSockets(&effects)
    }

    func closeOwnSockets(_ effects: inout [Effect]) {
        let sockets = attachment.socketsToDrain.map {
            DrainedSocket(socket: $0.id, mayBeInCall: $0.mayBeInCall, isWelcome: $0.isWelcome)
        }
        effects.append(.closeOwnSockets(sockets))
    }
}
