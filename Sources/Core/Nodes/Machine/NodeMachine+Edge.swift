import CallCore
import CallPorts

/// The node as an edge: the link to the owner, the events of this node's sockets, and the owner's commands.
extension NodeMachine {
    // MARK: The link to the owner

    /// The link to the owner; `nil` = there is none, or it is not open yet.
    var openOwnerLink: LinkID? { ownerLink?.phase == .open ? ownerLink?.id : nil }

    mutating func connect(to owner: NodeID, at address: String, _ now: Moment, _ effects: inout [Effect]) {
        disconnect(now, &effects)
        if let unreachable = ownerAttempts.begin(owner, at: address, now: now) {
            effects.append(.note(.ownerUnreachable(unreachable)))
        }
        guard ownerAttempts.mayConnect(at: now) else { return pass(.linkFailed, now, &effects) }
        let link = nextLink()
        ownerLink = OwnerLink(id: link, beganAt: now)
        effects.append(.connect(link, address: address))
    }

    mutating func connected(_ link: LinkID, _ now: Moment, _ effects: inout [Effect]) {
        guard link == ownerLink?.id else {
            effects.append(.close(link))
            return
        }
        ownerLink?.phase = .proving
        ownerLink?.beganAt = now
    }

    mutating func connectEnded(
        _ link: LinkID,
        _ result: Tenure.Input,
        _ reason: String,
        _ now: Moment,
        _ effects: inout [Effect]
    ) {
        guard link == ownerLink?.id else { return }
        ownerLink = nil
        ownerAttempts.failed(reason)
        pass(result, now, &effects)
    }

    /// Ends the link to the owner, or the attempt to open one.
    mutating func disconnect(_ now: Moment, _ effects: inout [Effect]) {
        guard let link = ownerLink else { return }
        ownerLink = nil
        isOwnerStalled = false
        effects.append(link.phase == .connecting ? .close(link.id) : .closeAfterWriting(link.id))
        pass(attachment: .detached, now, &effects)
    }

    mutating func linkOpened(_ link: LinkID, _ peer: Hello, _ now: Moment, _ effects: inout [Effect]) {
        guard link == ownerLink?.id else { return edgeLinked(link, peer, now, &effects) }
        ownerLink?.phase = .open
        effects.append(.note(.linkedToOwner(peer.node, peer.epoch)))
        ownerAttempts.opened()
        pass(.linkOpened(peer.epoch), now, &effects)
    }

    mutating func linkEnded(
        _ link: LinkID,
        _ end: LinkEnd,
        _ peer: Hello?,
        _ now: Moment,
        _ effects: inout [Effect]
    ) {
        effects.append(.note(.linkEnded(peer?.node, end)))
        if link == ownerLink?.id {
            ownerLinkEnded(end, peer, now, &effects)
        } else if let number = edges.first(where: { $0.value.link == link })?.key {
            edgeGone(number, now, &effects)
        }
    }

    private mutating func ownerLinkEnded(
        _ end: LinkEnd,
        _ peer: Hello?,
        _ now: Moment,
        _ effects: inout [Effect]
    ) {
        guard let link = ownerLink else { return }
        ownerLink = nil
        isOwnerStalled = false
        pass(attachment: .detached, now, &effects)
        guard link.phase == .open else {
            // If another run of the node answers at the owner's address, the owner's process is gone.
            let isOtherRun = peer.map { $0.node != ownerAttempts.owner } ?? false
            switch end {
            case .refused(.full): refusedByOwner(peer, now, &effects)
            case .refused(.claiming):
                ownerAttempts.noteClaiming()
                pass(attachment: .ownerComing, now, &effects)
            case .closed, .silent, .refused, .fault: ownerAttempts.failed(end.words)
            }
            pass(end == .refused(.notOwner) && isOtherRun ? .linkRefused : .linkFailed, now, &effects)
            return
        }
        ownerAttempts.ended(afterBeginningAt: link.beganAt, now: now)
        if end == .refused(.full) { refusedByOwner(peer, now, &effects) }
        effects.append(.note(.ownerLost(end)))
        pass(.linkLost(end == .closed ? .closed : .silent), now, &effects)
    }

    private mutating func refusedByOwner(_ peer: Hello?, _ now: Moment, _ effects: inout [Effect]) {
        guard ownerAttempts.refused(at: now) else { return }
        effects.append(.note(.refusedByOwner(peer?.node)))
    }

    /// Closes the link to an owner that has broken the protocol.
    private mutating func endOwnerLink(_ words: String, _ now: Moment, _ effects: inout [Effect]) {
        guard let link = ownerLink else { return }
        effects.append(.close(link.id))
        ownerLinkEnded(.fault(words), nil, now, &effects)
    }

    // MARK: Frames

    mutating func frameReceived(_ frame: NodeFrame, on link: LinkID, _ now: Moment, _ effects: inout [Effect]) {
        if link == ownerLink?.id {
            receivedFromOwner(frame, now, &effects)
        } else if let number = edges.first(where: { $0.value.link == link })?.key {
            receivedFromEdge(frame, number, now, &effects)
        }
    }

    private mutating func receivedFromOwner(_ frame: NodeFrame, _ now: Moment, _ effects: inout [Effect]) {
        switch frame {
        case .command(let command):
            if let epoch = attachment.epoch { pass(attachment: .command(epoch, command), now, &effects) }
        case .confirmed(let number):
            if let epoch = attachment.epoch { pass(attachment: .confirmed(epoch, upTo: number), now, &effects) }
        case .storeStalled(let isStalled):
            isOwnerStalled = isStalled
            pass(.ownerStalled(isStalled), now, &effects)
        case .released(let heir): pass(.ownerReleased(heir: heir), now, &effects)
        case .deposed(let epoch): pass(.heardOf(epoch), now, &effects)
        case .revocation(let user, let moment): revocationDone(user, upTo: moment, &effects)
        case .hello, .proof, .refused, .ping, .pong, .event, .adopt, .adoptionComplete:
            endOwnerLink("a frame that only an edge sends", now, &effects)
        }
    }

    /// Handles the owner's report that a revocation is durable.
    private mutating func revocationDone(_ user: UserID, upTo moment: Moment, _ effects: inout [Effect]) {
        for revocation in revocations where revocation.user == user && revocation.moment == moment {
            if case .operatorHere(let id) = revocation.asker { effects.append(.revocationDone(id)) }
        }
        revocations.removeAll { $0.user == user && $0.moment == moment }
    }

    // MARK: The attachment

    mutating func pass(attachment input: Attachment.Input, _ now: Moment, _ effects: inout [Effect]) {
        var decided: [Attachment.Effect] = []
        attachment.handle(input, at: now, into: &decided)
        for effect in decided { perform(effect, now, &effects) }
    }

    private mutating func perform(_ effect: Attachment.Effect, _ now: Moment, _ effects: inout [Effect]) {
        switch effect {
        case .adopt(let socket):
            guard let link = ownerLink else { return adopt(socket, over: 0, &effects) }
            var socket = socket
            socket.principal = socket.principal.shifted(by: clockLead)
            effects.append(.send(link.id, .adopt(socket)))
        case .adoptionComplete: if let link = ownerLink { effects.append(.send(link.id, .adoptionComplete)) }
        case .pass(let number, let event): sendToOwner(number, event, &effects)
        case .carryOut(.revoke(let user, let moment)):
            effects.append(.carryOut(.revoke(user, upTo: moment + clockLag)))
        case .carryOut(let command): effects.append(.carryOut(command))
        case .refuse(let id): effects.append(.refuseRequest(id))
        case .rejectInput(let isRejecting):
            isRejectingInput = isRejecting
            if isRejecting { effects.append(.note(.rejectsInput)) }
        case .ready(let isReady): self.isReady = isReady
        case .endLink(let fault): endOwnerLink(fault.message, now, &effects)
        }
    }

    private mutating func sendToOwner(_ number: UInt64, _ event: SocketEvent, _ effects: inout [Effect]) {
        guard let link = ownerLink else {
            // This node has become the owner itself.
            return decide(event, over: 0, &effects)
        }
        var event = event
        if case .opened(let socket, let principal, let device) = event {
            event = .opened(socket, principal.shifted(by: clockLead), device: device)
        }
        effects.append(.send(link.id, .event(number, event)))
    }

    /// Ends what is too large for a frame: a frame has room for all but odd requests and tokens.
    mutating func tooLarge(
        _ event: SocketEvent,
        _ response: Response,
        _ now: Moment,
        _ effects: inout [Effect]
    ) {
        switch event {
        case .requested(let request, _, _):
            guard let epoch = attachment.epoch else { return }
            pass(attachment: .command(epoch, .respond(request, response)), now, &effects)
        case .opened(let socket, _, _), .openedSocketIO(let socket, _), .received(let socket, _):
            let reason = "the request or token is too large"
            effects.append(.carryOut(.close(socket, code: 1009, reason: reason, discardingQueue: false)))
        case .ponged, .signOfLife, .tooSlow, .closed, .abandoned: break
        }
    }

    // MARK: Events of this node's sockets

    mutating func socketEvent(
        _ event: SocketEvent,
        _ isLinkFull: Bool,
        _ now: Moment,
        _ effects: inout [Effect]
    ) {
        let isOverfull = isRejectingInput || isLinkFull
        switch event {
        case .opened(let socket, _, _), .openedSocketIO(let socket, _):
            if isOverfull { overfullRefused += 1 }
            guard !isOverfull, !tenure.isLeaving else {
                effects.append(.carryOut(Attachment.closing(socket)))
                return
            }
        case .received(let socket, _) where isOverfull:
            overfullRefused += 1
            effects.append(.carryOut(Attachment.closing(socket, discardingQueue: true)))
            return
        case .requested(let request, _, _):
            if isOverfull { overfullRefused += 1 }
            guard !isOverfull, !tenure.isLeaving else {
                effects.append(.refuseRequest(request))
                return
            }
        case .received, .ponged, .signOfLife, .tooSlow, .closed, .abandoned: break
        }
        guard !tenure.isLeaving else { return }
        pass(attachment: .event(event), now, &effects)
    }
}
