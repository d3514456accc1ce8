package import CallCore
package import CallPorts

/// The node as the owner: the links of the other nodes, and the beginning and the end of the ownership.
extension NodeMachine {
    var sortedEdges: [(number: Int, edge: Edge)] {
        edges.sorted { $0.key < $1.key }.map { (number: $0.key, edge: $0.value) }
    }

    func sendToEdges(_ frame: NodeFrame, _ effects: inout [Effect]) {
        for (_, edge) in sortedEdges { effects.append(.send(edge.link, frame)) }
    }

    // MARK: The beginning

    /// Takes over the store of the claim, so that other nodes can bring their sockets.
    mutating func becomeOwner(_ epoch: OwnerEpoch, _ effects: inout [Effect]) {
        guard hasUnusedClaim else { return }
        hasUnusedClaim = false
        takeovers += 1
        effects.append(.note(.owns(epoch)))
        effects.append(.beginOwnership(epoch))
    }

    /// Begins to decide.
    ///
    /// The other nodes have brought their sockets while this node gathered them. Its own sockets are adopted now, and
    /// then all events that have waited are handled.
    mutating func serve(_ epoch: OwnerEpoch, _ now: Moment, _ effects: inout [Effect]) {
        effects.append(.serve)
        pass(attachment: .attached(epoch), now, &effects)
        // The switchboard has the sockets from now on.
        overfullRefused += attachment.refusedForShare
        attachment = Attachment(at: now)
        for revocation in revocations {
            effects.append(.revoke(revocation, before: revocation.moment + clockLag))
        }
        revocations = []
        var waiting: [(link: Int, number: UInt64, event: SocketEvent)] = []
        swap(&waiting, &eventsBeforeServing)
        for one in waiting { decide(one.event, one.number, over: one.link, &effects) }
        effects.append(.note(.serves(links: edges.count)))
    }

    // MARK: Links of other nodes

    /// Returns why this node does not serve a node that connects; `nil` = the node may prove itself.
    package mutating func refusal(
        of peer: Hello,
        at now: Moment,
        into effects: inout [Effect]
    ) -> NodeFrame.LinkRefusal? {
        guard tenure.ownEpoch != nil else { return tenure.isLoading ? .claiming : .notOwner }
        // A node that connects again replaces its earlier link.
        guard edges.count >= LinkNumber.range.count, !edges.values.contains(where: { $0.node == peer.node })
        else { return nil }
        if refusalReportedAt.map({ now - $0 >= NodeLimits.refusalReports }) ?? true {
            refusalReportedAt = now
            effects.append(.note(.nodeRefused(peer.node)))
        }
        return .full
    }

    mutating func edgeLinked(_ link: LinkID, _ peer: Hello, _ now: Moment, _ effects: inout [Effect]) {
        pass(.heardOf(peer.epoch), now, &effects)
        guard tenure.ownEpoch != nil else {
            effects.append(.close(link))
            return
        }
        // A node that connects again has lost its earlier link, which may not have been noticed here.
        for (number, edge) in sortedEdges where edge.node == peer.node {
            effects.append(.close(edge.link))
            edgeGone(number, now, &effects)
        }
        // The last free place may be taken by now: it is not reserved between a node's hello and its proof.
        if let refusal = refusal(of: peer, at: now, into: &effects) {
            effects.append(.refuse(link, refusal))
            return
        }
        guard let number = LinkNumber.range.first(where: { edges[$0] == nil }) else {
            effects.append(.close(link))
            return
        }
        edges[number] = Edge(link: link, node: peer.node)
        effects.append(.sendRevocations(link))
        effects.append(.note(.nodeLinked(peer.node)))
    }

    mutating func receivedFromEdge(
        _ frame: NodeFrame,
        _ number: Int,
        _ now: Moment,
        _ effects: inout [Effect]
    ) {
        // A copy of the record would make each change of its sets a copy of the sets.
        guard let link = edges[number]?.link, let node = edges[number]?.node else { return }
        switch frame {
        case .event(let event, let content):
            guard tenure.ownEpoch != nil else { return }
            if tenure.isServing {
                decide(content, event, over: number, &effects)
            } else {
                eventsBeforeServing.append((number, event, content))
            }
        case .adopt(let socket): adopt(socket, over: number, &effects)
        case .adoptionComplete: pass(.nodeAttached(node), now, &effects)
        case .deposed(let epoch): pass(.heardOf(epoch), now, &effects)
        case .revocation(let user, let moment):
            guard tenure.ownEpoch != nil else { return }
            let revocation = PendingRevocation(user: user, moment: moment, asker: .link(link))
            effects.append(.revoke(revocation, before: moment + clockLag))
        case .hello, .proof, .refused, .ping, .pong, .storeStalled, .confirmed, .command, .released:
            effects.append(.close(link))
            edgeGone(number, now, &effects)
        }
    }

    /// Handles the end of a node's link: its sockets and requests are gone.
    mutating func edgeGone(_ number: Int, _ now: Moment, _ effects: inout [Effect]) {
        guard let edge = edges.removeValue(forKey: number) else { return }
        eventsBeforeServing.removeAll { $0.link == number }
        effects.append(.note(.nodeGone(edge.node, sockets: edge.sockets.count)))
        for socket in edge.sockets.sorted(by: { $0.rawValue < $1.rawValue }) {
            effects.append(.decide(.closed(socket, code: nil), link: number))
        }
        for request in edge.requests.sorted(by: { $0.rawValue < $1.rawValue }) {
            effects.append(.decide(.abandoned(request), link: number))
        }
        pass(.nodeDetached(edge.node), now, &effects)
    }

    // MARK: Events

    /// Decides an event of another node, and records its number, which is confirmed later.
    private mutating func decide(_ event: SocketEvent, _ number: UInt64, over link: Int, _ effects: inout [Effect]) {
        guard edges[link] != nil else { return }
        decide(event, over: link, &effects)
        edges[link]?.confirmations.handled = number
    }

    /// Decides an event of a link; 0 = of this node.
    mutating func decide(_ event: SocketEvent, over link: Int, _ effects: inout [Effect]) {
        switch event {
        case .opened(let socket, let principal, let device):
            guard link != 0 else { break }
            edges[link]?.sockets.insert(socket)
            effects.append(.admit(socket, principal.shifted(by: clockLag), device: device, link: link))
            if device == nil, principal.device == nil { effects.append(.assignDevice(socket, link: link)) }
            return
        case .openedSocketIO(let socket, _): edges[link]?.sockets.insert(socket)
        case .closed(let socket, _): edges[link]?.sockets.remove(socket)
        case .requested(let request, _, _): edges[link]?.requests.insert(request)
        case .abandoned(let request): edges[link]?.requests.remove(request)
        case .received, .ponged, .signOfLife, .tooSlow: break
        }
        effects.append(.decide(event, link: link))
    }

    /// Gives a socket of a link to the switchboard; 0 = of this node.
    mutating func adopt(_ socket: AdoptedSocket, over link: Int, _ effects: inout [Effect]) {
        edges[link]?.sockets.insert(socket.socket)
        var own = socket
        if link != 0 { own.principal = socket.principal.shifted(by: clockLag) }
        effects.append(.adopt(own, link: link))
        if link != 0, socket.device == nil, socket.principal.device == nil {
            effects.append(.assignDevice(socket.socket, link: link))
        }
    }

    /// Confirms the events whose changes are durable; call it at the end of each turn.
    ///
    /// `hasChanges`: Whether the switchboard has changes that are not committed yet. They go into the next commit.
    package mutating func confirmEvents(hasChanges: Bool, into effects: inout [Effect]) {
        guard tenure.ownEpoch != nil, !edges.isEmpty else { return }
        let ticket = lastTicket + (hasChanges ? 1 : 0)
        for number in LinkNumber.range {
            guard let newest = edges[number]?.confirmations.confirm(after: ticket, durable: durableTicket),
                let link = edges[number]?.link
            else { continue }
            effects.append(.send(link, .confirmed(upTo: newest)))
        }
    }

    // MARK: Commands

    /// Returns the link of the node that has the socket or request of this number; `nil` = that node is gone.
    package func link(of number: UInt64) -> LinkID? { edges[LinkNumber.link(of: number)]?.link }

    /// Records how far the next frame to a socket of another node takes it in a call's log.
    package mutating func mark(_ socket: UInt64, _ mark: LogMark) {
        edges[LinkNumber.link(of: socket)]?.nextMark = (socket, mark)
    }

    /// Returns the marks of the frame that is sent to a socket of another node now.
    package mutating func marks(of socket: UInt64) -> [LogMark] {
        let link = LinkNumber.link(of: socket)
        guard let next = edges[link]?.nextMark else { return [] }
        edges[link]?.nextMark = nil
        return next.socket == socket ? [next.mark] : []
    }

    /// Records the response to a request of another node.
    package mutating func responded(to request: UInt64) {
        edges[LinkNumber.link(of: request)]?.requests
            .remove(RequestID(rawValue: LinkNumber.edgeNumber(request)))
    }

    mutating func revocationDurable(_ revocation: PendingRevocation, _ effects: inout [Effect]) {
        switch revocation.asker {
        case .operatorHere(let id): effects.append(.revocationDone(id))
        case .link(let link):
            // A node asks again when it reconnects.
            guard edges.values.contains(where: { $0.link == link }) else { return }
            effects.append(.send(link, revocation.frame))
        }
    }

    // MARK: The end

    /// Commits everything and releases the calls; the acks of the last commits still go out.
    mutating func release(_ epoch: OwnerEpoch, heir: NodeID?, _ effects: inout [Effect]) {
        if hasUnusedClaim {
            // The claim has come after the end was decided, or another node has claimed behind it.
            hasUnusedClaim = false
            effects.append(.giveBack(epoch, heir: heir))
            return
        }
        effects.append(.note(.releases(epoch, heir: heir)))
        effects.append(.endOwnership(epoch, heir: heir))
    }

    /// Drops the calls, which this node owns no longer: nothing is acknowledged, sent or pushed any more.
    mutating func drop(_ effects: inout [Effect]) {
        for (_, edge) in sortedEdges { effects.append(.close(edge.link)) }
        edges = [:]
        eventsBeforeServing = []
        effects.append(.dropCalls)
        if tenure.isTerminating { closeOwnSockets(&effects) }
        guard case .ended(.deposed) = tenure.state else { return }
        effects.append(.note(.deposed))
        effects.append(.beginAnew)
    }
}

extension Principal {
    /// Returns the principal with its moments counted by another clock, which is ahead by a duration.
    func shifted(by difference: Moment.Duration) -> Principal {
        guard difference != .milliseconds(0) else { return self }
        var principal = self
        principal.expiresAt = expiresAt.map { $0 + difference }
        principal.issuedAt = issuedAt.map { $0 + difference }
        return principal
    }
}
