import CallCore
import CallPorts
import CallWire
import Cluster
import LibWebSockets
import ServerLog
import Switchboard
import Threads

/// The node as an edge: the link to the owner, and the events and commands of this node's sockets.
extension Node {
    // MARK: The link to the owner

    func connect(to owner: NodeID, at address: String) {
        disconnect()
        if let unreachable = ownerAttempts.begin(owner, at: address, now: now) {
            log.warning(
                "this node cannot reach the owner of the calls at its --node-address",
                [
                    .node(unreachable.owner.logged), .nodeAddress(OperatorText(unreachable.address)),
                    .error(UntrustedText(unreachable.reason)),
                ]
            )
        }
        guard ownerAttempts.mayConnect(at: now) else { return handle(.linkFailed) }
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]) else {
            ownerAttempts.failed("the address is not HOST:PORT")
            return handle(.linkFailed)
        }
        let host = address[..<colon].drop { $0 == "[" }.prefix { $0 != "]" }
        connectAttempt = server.connect(toHost: String(host), port: port) { [unowned self] result in connected(result) }
    }

    private func connected(_ result: Result<TCPStream, TCPConnectFailure>) {
        connectAttempt = nil
        switch result {
        case .success(let stream): ownerLink = beginLink(stream, as: .client)
        case .failure(.refused):
            ownerAttempts.failed("connection refused")
            handle(.linkRefused)
        case .failure(.failed(let reason)):
            ownerAttempts.failed(reason)
            log.debug("the owner of the calls cannot be reached", [.error(UntrustedText(reason))])
            handle(.linkFailed)
        }
    }

    /// Ends the link, or the attempt to open one.
    func disconnect() {
        connectAttempt?.cancel()
        connectAttempt = nil
        guard let link = ownerLink else { return }
        link.closeAfterWriting()
        ownerLink = nil
        isOwnerStalled = false
        handle(attachment: .detached)
    }

    func endedOwnerLink(_ link: Link, _ end: Link.End) {
        ownerLink = nil
        isOwnerStalled = false
        handle(attachment: .detached)
        guard link.isOpen else {
            // If another run of the node answers at the owner's address, the owner's process is gone.
            let isOtherRun = link.peer.map { $0.node != ownerAttempts.owner } ?? false
            switch end {
            case .refused(.full): refusedByOwner(link)
            case .refused(.claiming):
                ownerAttempts.noteClaiming()
                handle(attachment: .ownerComing)
            default: ownerAttempts.failed(end.word)
            }
            handle(end == .refused(.notOwner) && isOtherRun ? .linkRefused : .linkFailed)
            return
        }
        ownerAttempts.ended(afterBeginningAt: link.beganAt, now: now)
        if end == .refused(.full) { refusedByOwner(link) }
        log.warning("the link to the owner of the calls was lost", [.linkEnd(ServerText(end.word))])
        handle(.linkLost(end == .closed ? .closed : .silent))
    }

    private func refusedByOwner(_ link: Link) {
        guard ownerAttempts.refused(at: now) else { return }
        log.warning("the owner of the calls has no place for this node", [link.peer.map { .node($0.node.logged) }])
    }

    func attach(to epoch: OwnerEpoch) {
        handle(attachment: .attached(epoch))
        for revocation in revocations { ownerLink?.send(revocation.frame) }
    }

    func receivedFromOwner(_ frame: NodeFrame) {
        guard let link = ownerLink else { return }
        switch frame {
        case .command(let command):
            if let epoch = attachment.epoch { handle(attachment: .command(epoch, command)) }
        case .confirmed(let number):
            if let epoch = attachment.epoch { handle(attachment: .confirmed(epoch, upTo: number)) }
        case .storeStalled(let isStalled):
            isOwnerStalled = isStalled
            handle(.ownerStalled(isStalled))
        case .released(let heir): handle(.ownerReleased(heir: heir))
        case .deposed(let epoch): handle(.heardOf(epoch))
        case .revocation(let user, let moment): revoked(user, upTo: moment)
        case .hello, .proof, .refused, .ping, .pong, .event, .adopt, .adoptionComplete:
            link.close()
            endedOwnerLink(link, .fault("a frame that only an edge sends"))
        }
    }

    // MARK: Events and commands

    func handle(attachment input: Attachment.Input) {
        var effects: [Attachment.Effect] = []
        attachment.handle(input, at: now, into: &effects)
        for effect in effects { perform(effect) }
    }

    private func perform(_ effect: Attachment.Effect) {
        switch effect {
        case .adopt(let socket):
            guard let ownerLink else { return adopt(socket, over: 0) }
            var socket = socket
            socket.principal = socket.principal.shifted(by: clockLead)
            ownerLink.send(.adopt(socket))
        case .adoptionComplete: ownerLink?.send(.adoptionComplete)
        case .pass(let number, let event): sendToOwner(number, event)
        case .carryOut(let command): gateway.carryOutOwnerCommand(command)
        case .refuse(let id): refuse(ExchangeID(rawValue: id.rawValue))
        case .rejectInput(let isRejecting):
            isRejectingInput = isRejecting
            if isRejecting { log.warning("too many events wait for an owner: sockets that send more are closed") }
        case .ready(let isReady): self.isReady = isReady
        case .endLink(let fault):
            guard let link = ownerLink else { return }
            link.close()
            endedOwnerLink(link, .fault(fault.message))
        }
    }

    private func sendToOwner(_ number: UInt64, _ event: EdgeEvent) {
        guard let ownerLink else {
            // This node has become the owner itself.
            gateway.handleEdgeEvent(event, over: 0)
            return
        }
        var event = event
        if case .opened(let socket, let principal, let device) = event {
            event = .opened(socket, principal.shifted(by: clockLead), device: device)
        }
        if ownerLink.send(.event(number, event)) { return }
        // A frame has room for nearly everything that the server accepts: only odd requests and tokens do not fit.
        switch event {
        case .requested(let exchange, let head, _):
            var problem = HTTPResponse.problem(413, code: "too_large", message: "the request's head is too large")
            problem.headers = gateway.router.refusalHeaders(for: RequestHead(head))
            if let epoch = attachment.epoch {
                handle(attachment: .command(epoch, .respond(exchange, EdgeResponse(problem))))
            }
        case .opened(let socket, _, _), .openedSocketIO(let socket, _), .received(let socket, _):
            gateway.close(SocketID(rawValue: socket.rawValue), code: 1009, reason: "the request or token is too large")
        case .ponged, .signOfLife, .tooSlow, .closed, .abandoned: break
        }
    }

    /// How far the wall clock, by which moments are counted on links, is ahead of this server's clock.
    var clockLead: Moment.Duration { .milliseconds(gateway.configuration.clock.difference) }

    /// Takes an event of this node's sockets while another node, or none, owns the calls.
    /// - Returns: `false` if the event concerns this node alone.
    func passOn(_ event: LoopEvent) -> Bool {
        switch event {
        case .opened(let socket, _) where isOverfull || isLeaving,
            .forwardedSocketIO(let socket, _) where isOverfull || isLeaving:
            if isOverfull { overfullRefused += 1 }
            gateway.close(socket, code: 1001, reason: "the server is moving; reconnect")
        case .opened(let socket, let admission):
            passToAttachment(.opened(EdgeSocketID(socket), admission.principal, device: admission.device))
        case .forwardedSocketIO(let socket, let head):
            passToAttachment(.openedSocketIO(EdgeSocketID(socket), EdgeRequestHead(head)))
        case .openedSocketIO(let socket, _):
            // The socket was admitted before this node stopped deciding.
            gateway.close(socket, code: 1001, reason: "the server is moving; reconnect")
        case .received(let socket, let bytes):
            guard !isOverfull else {
                overfullRefused += 1
                gateway.close(socket, code: 1001, reason: "the server is moving; reconnect", discardingQueue: true)
                return true
            }
            passToAttachment(.received(EdgeSocketID(socket), bytes))
        case .ponged(let socket, let number): passToAttachment(.ponged(EdgeSocketID(socket), number))
        case .signOfLife(let socket): passToAttachment(.signOfLife(EdgeSocketID(socket)))
        case .tooSlow(let socket): passToAttachment(.tooSlow(EdgeSocketID(socket)))
        case .closed(let socket, let code): passToAttachment(.closed(EdgeSocketID(socket), code: code))
        case .forwarded(let exchange, let head, let body):
            guard !isOverfull else {
                overfullRefused += 1
                refuse(exchange)
                return true
            }
            openExchanges.insert(exchange)
            // The owner's response has its CORS headers; only a refusal by this node needs the origin.
            if let origin = head.origin { gateway.origins[exchange] = origin }
            passToAttachment(.requested(EdgeExchangeID(exchange), EdgeRequestHead(head), body: body))
        case .requested(let exchange, _):
            // The request was routed before this node stopped deciding.
            refuse(exchange)
        case .abandoned(let exchange):
            openExchanges.remove(exchange)
            gateway.origins[exchange] = nil
            passToAttachment(.abandoned(EdgeExchangeID(exchange)))
        case .requestedByOperator, .healthRequested, .counted: return false
        }
        return true
    }

    private func passToAttachment(_ event: EdgeEvent) {
        guard isLeaving else { return handle(attachment: .event(event)) }
        if case .requested(let exchange, _, _) = event { refuse(ExchangeID(rawValue: exchange.rawValue)) }
    }

    /// Responds to a request for which there is no owner at present.
    func refuse(_ exchange: ExchangeID) {
        let error = WireError(.draining, "the calls are moving to another node: try again")
        gateway.respond(Reply(error, retryAfterSeconds: 1), to: exchange)
    }

    /// Whether so much waits for the owner that clients must not send more.
    private var isOverfull: Bool { isRejectingInput || ownerLink.map { $0.bytesWaiting > LoopLimits.events } ?? false }
}

extension EdgeSocketID {
    init(_ socket: SocketID) { self.init(rawValue: LinkNumber.edgeNumber(socket.rawValue)) }
}

extension EdgeExchangeID {
    init(_ exchange: ExchangeID) { self.init(rawValue: LinkNumber.edgeNumber(exchange.rawValue)) }
}

extension Link.End {
    /// The end in words, for the log.
    var word: String {
        switch self {
        case .closed: "closed"
        case .silent: "silent"
        case .refused(.version): "refused: no common version"
        case .refused(.proof): "refused: the nodes use different databases"
        case .refused(.notOwner): "refused: that node does not own the calls"
        case .refused(.claiming): "refused: that node is loading its calls"
        case .refused(.full): "refused: the owner has as many links as it can have"
        case .fault(let words): "fault: \(words)"
        }
    }
}
