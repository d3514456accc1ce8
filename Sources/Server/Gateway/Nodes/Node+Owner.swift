import CallCore
import CallPorts
import CallWire
import Cluster
import LibWebSockets
import ServerLog
import Switchboard

/// The node as the owner: the links of the other nodes, and the beginning and the end of the ownership.
extension Node {
    // MARK: The beginning

    /// Takes over the store of the claim, so that other nodes can bring their sockets.
    func becomeOwner() {
        guard let claimedStore else { return }
        self.claimedStore = nil
        takeovers += 1
        log.notice("this node owns the calls", [.ownership(claimedStore.epoch.rawValue)])
        gateway.begin(with: claimedStore.store, claimedStore.state, switchboardPorts)
    }

    /// Begins to decide.
    ///
    /// The other nodes have brought their sockets while this node gathered them. Its own sockets are adopted now, and
    /// then all events that have waited are handled.
    func serve() {
        guard let epoch = tenure.ownEpoch else { return }
        gateway.passesEventsOn = false
        handle(attachment: .attached(epoch))
        // The switchboard has the sockets from now on.
        overfullRefused += attachment.refusedForShare
        attachment = Attachment(at: now)
        carryOutRevocations()
        var waiting: [(link: Int, number: UInt64, event: EdgeEvent)] = []
        swap(&waiting, &eventsBeforeServing)
        for one in waiting { handleEdgeEvent(one.event, one.number, over: one.link) }
        log.debug("this node serves as the owner", [.links(edgeLinks.count)])
    }

    // MARK: Links of other nodes

    func accept(_ stream: TCPStream) {
        unprovenLinks.append(beginLink(stream, as: .server))
        if let place = UnprovenLinks.surplus(unprovenLinks.map(\.stream.peerAddress)) {
            unprovenLinks.remove(at: place).close()
        }
    }

    func refusal(of peer: Hello, by own: Hello) -> NodeFrame.LinkRefusal? {
        guard own.isOwner else { return tenure.isLoading ? .claiming : .notOwner }
        // A node that connects again replaces its earlier link.
        guard edgeLinks.count >= LinkNumber.range.count, !edgeLinks.values.contains(where: { $0.node == peer.node })
        else { return nil }
        if refusalReportedAt.map({ now - $0 >= ClusterLimits.refusalReports }) ?? true {
            refusalReportedAt = now
            log.warning("a node was refused: the owner has as many links as it can have", [.node(peer.node.logged)])
        }
        return .full
    }

    func openedEdge(_ link: Link, _ peer: Hello) {
        unprovenLinks.removeAll { $0 === link }
        handle(.heardOf(peer.epoch))
        guard tenure.ownEpoch != nil else { return link.close() }
        // A node that connects again has lost its earlier link, which may not have been noticed here.
        for edge in edgeLinks.values where edge.node == peer.node {
            edge.link.close()
            endedEdge(edge)
        }
        // The last free place may be taken by now: it is not reserved between a node's hello and its proof.
        if let refusal = refusal(of: peer, by: hello(challenge: [])) { return link.refuse(refusal) }
        guard let number = LinkNumber.range.first(where: { edgeLinks[$0] == nil }) else { return link.close() }
        edgeLinks[number] = EdgeLink(link, number: number, node: peer.node)
        for (user, moment) in gateway.router.revocations.all {
            link.send(.command(.revoke(user, upTo: moment + clockLead)))
        }
        log.notice("a node is linked", [.node(peer.node.logged)])
    }

    func received(_ frame: NodeFrame, from edge: EdgeLink) {
        switch frame {
        case .event(let number, let event):
            guard tenure.ownEpoch != nil else { return }
            if isServing {
                handleEdgeEvent(event, number, over: edge.number)
            } else {
                eventsBeforeServing.append((edge.number, number, event))
            }
        case .adopt(let socket): adopt(socket, over: edge.number)
        case .adoptionComplete: handle(.nodeAttached(edge.node))
        case .deposed(let epoch): handle(.heardOf(epoch))
        case .revocation(let user, let moment): revoke(user, upTo: moment, askedBy: edge)
        case .hello, .proof, .refused, .ping, .pong, .storeStalled, .confirmed, .command, .released:
            edge.link.close()
            endedEdge(edge)
        }
    }

    /// Handles the end of a node's link: its sockets and requests are gone.
    func endedEdge(_ edge: EdgeLink) {
        guard edgeLinks[edge.number] === edge else { return }
        edgeLinks[edge.number] = nil
        eventsBeforeServing.removeAll { $0.link == edge.number }
        log.notice("a node's link has ended", [.node(edge.node.logged), .connections(edge.sockets.count)])
        for socket in edge.sockets.sorted(by: { $0.rawValue < $1.rawValue }) {
            gateway.decide(.closed(socket, code: nil))
        }
        for exchange in edge.exchanges { gateway.decide(.abandoned(exchange)) }
        handle(.nodeDetached(edge.node))
    }

    /// Handles an event of another node's link, and records its number, which is confirmed later.
    private func handleEdgeEvent(_ event: EdgeEvent, _ number: UInt64, over link: Int) {
        guard let edge = edgeLinks[link] else { return }
        gateway.handleEdgeEvent(event, over: link)
        edge.confirmations.handled = number
    }

    /// Gives a socket of a link to the switchboard; 0 = of this node.
    func adopt(_ socket: AdoptedSocket, over link: Int) {
        let id = SocketID(rawValue: LinkNumber.number(socket.socket.rawValue, on: link))
        edgeLinks[link]?.sockets.insert(id)
        gateway.feed(
            .adopted(
                ConnectionID(rawValue: id.rawValue),
                link == 0 ? socket.principal : socket.principal.shifted(by: .milliseconds(-clockLead.milliseconds)),
                device: socket.device,
                assigned: socket.assigned,
                openFor: socket.openFor,
                seen: Dictionary(socket.seen.map { ($0.call, $0.seq) }) { max($0, $1) }
            )
        )
        if socket.device == nil, socket.principal.device == nil { assignDevice(to: id) }
    }

    // MARK: Commands to other nodes

    /// Sends a frame to a socket of another node; returns `false` if too much already waits for that node.
    func send(_ frame: Frame, to socket: SocketID) -> Bool {
        guard let edge = edgeLinks[LinkNumber.link(of: socket.rawValue)] else { return true }
        guard edge.link.bytesWaiting + frame.bytes.count <= LoopLimits.commands else { return false }
        var marks: [LogMark] = []
        if let next = edge.nextFrameMarks, next.socket == socket { marks = next.marks }
        edge.nextFrameMarks = nil
        edge.link.send(.command(.send(frame, EdgeSocketID(socket), marks: marks)))
        return true
    }

    /// Records how far the next frame to a socket takes it in a call's log.
    func mark(_ socket: SocketID, _ mark: LogMark) {
        edgeLinks[LinkNumber.link(of: socket.rawValue)]?.nextFrameMarks = (socket, [mark])
    }

    /// Sends a command to the node of a link.
    func sendCommand(_ command: LoopCommand, over link: Int) {
        guard let edge = edgeLinks[link] else { return }
        switch command {
        case .send(let frame, let socket): _ = send(frame, to: socket)
        case .ping(let socket, let number): edge.link.send(.command(.ping(EdgeSocketID(socket), number)))
        case .close(let socket, let code, let reason, let discardingQueue):
            edge.link.send(
                .command(.close(EdgeSocketID(socket), code: code, reason: reason, discardingQueue: discardingQueue))
            )
        case .respond(let exchange, let response):
            edge.exchanges.remove(exchange)
            if !edge.link.send(.command(.respond(EdgeExchangeID(exchange), EdgeResponse(response)))) {
                let problem = HTTPResponse.problem(500, code: "internal_error", message: "the response is too large")
                edge.link.send(.command(.respond(EdgeExchangeID(exchange), EdgeResponse(problem))))
            }
        case .markAuthenticated(let exchange): edge.link.send(.command(.markAuthenticated(EdgeExchangeID(exchange))))
        case .stopListening, .count, .closeAll: break
        }
    }

    /// Tells a socket's node whether the socket has state that no other owner can restore.
    func bind(_ socket: SocketID, _ isBound: Bool) {
        edgeLinks[LinkNumber.link(of: socket.rawValue)]?.link.send(.command(.bind(EdgeSocketID(socket), isBound)))
    }

    /// Tells a socket's node which id the device of its client has been given, so that it keeps the id under the next
    /// owner.
    func assignDevice(to socket: SocketID) {
        guard let edge = edgeLinks[LinkNumber.link(of: socket.rawValue)],
            let device = gateway.switchboard?.device(of: ConnectionID(rawValue: socket.rawValue))
        else { return }
        edge.link.send(.command(.assign(EdgeSocketID(socket), device)))
    }

    /// Tells all nodes that a user's tokens are revoked.
    func revoke(_ user: UserID, upTo moment: Moment) {
        for edge in edgeLinks.values { edge.link.send(.command(.revoke(user, upTo: moment + clockLead))) }
    }

    /// Confirms the events whose changes are durable.
    func confirmEvents() {
        guard tenure.ownEpoch != nil else { return }
        // Changes that are not committed yet go into the next commit.
        let ticket = lastTicket + (gateway.switchboard?.hasChanges == true ? 1 : 0)
        for edge in edgeLinks.values { edge.confirm(after: ticket, durable: durableTicket) }
    }

    // MARK: The end

    /// Commits everything and releases the calls; the acks of the last commits still go out.
    func release(_ epoch: OwnerEpoch, heir: NodeID?) {
        if let claimedStore {
            // The claim has come after the end was decided, or another node has claimed behind it. The end of the store
            // takes seconds if the database does not respond, so this thread does not wait for it.
            self.claimedStore = nil
            register.giveBack(claimedStore.store, to: heir) { [weak gateway] in
                gateway?.post { $0.node?.handle(.released(epoch)) }
            }
            return
        }
        log.notice("this node releases the calls", [.ownership(epoch.rawValue), heir.map { .node($0.logged) }])
        gateway.endOwnership(releasingTo: heir)
        for edge in edgeLinks.values { edge.confirm(after: lastTicket, durable: durableTicket) }
        // The store has reported its last commits to the loop, where this comes after them.
        gateway.post { $0.node?.handle(.released(epoch)) }
    }

    func announceRelease(_ heir: NodeID?) {
        for edge in edgeLinks.values {
            edge.confirm(after: lastTicket, durable: durableTicket)
            edge.link.send(.released(heir: heir))
            edge.link.closeAfterWriting()
        }
        edgeLinks = [:]
    }

    /// Drops the calls, which this node owns no longer: nothing is acknowledged, sent or pushed any more.
    func drop() {
        for edge in edgeLinks.values { edge.link.close() }
        edgeLinks = [:]
        eventsBeforeServing = []
        formerConnections = (gateway.switchboard?.connectionsToDrain() ?? []).compactMap { connection in
            guard LinkNumber.link(of: connection.id.rawValue) == 0 else { return nil }
            return (SocketID(rawValue: connection.id.rawValue), connection.isInCall)
        }
        gateway.dropCalls()
        if gateway.isDraining { closeOwnConnections() }
        guard case .ended(.deposed) = tenure.state else { return }
        log.warning("another node owns the calls; this node begins anew")
        gateway.endForNewRun()
    }
}
