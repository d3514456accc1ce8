import CallCore
import CallPorts
import CallWire
import Cluster
import SeededRandom
import Switchboard

/// The node as the owner, which may have been deposed without knowing it: the links of the other nodes, the inputs of
/// its switchboard, and the outputs.
extension SimulatedWorld {
    func nodeRandom() -> SeededGenerator { SeededGenerator(seed: serverSeed, stream: UInt64(nodeStores) + 1) }

    // MARK: Links of other nodes

    func openedEdge(_ link: NodeLink, _ peer: Hello, _ node: SimulatedNode) {
        let life = node.life
        passToTenure(.heardOf(peer.epoch), at: node)
        guard node.life == life, node.tenure.ownEpoch != nil else { return endLink(link, at: NodeLink.server) }
        // A node that connects again has lost its earlier link, which may not have been noticed here.
        for edge in edges(of: node) where edge.node == peer.node {
            endLink(edge.link, at: NodeLink.server)
            endedEdge(edge, node)
        }
        guard let number = LinkNumber.range.first(where: { node.edges[$0] == nil }) else {
            return endLink(link, at: NodeLink.server)
        }
        node.edges[number] = SimulatedEdge(link, number: number, node: peer.node)
        log("\(peer.node.text) is linked to \(node.name)")
    }

    func receivedFromEdge(_ frame: NodeFrame, _ edge: SimulatedEdge, _ node: SimulatedNode) {
        switch frame {
        case .event(let number, let event):
            guard node.tenure.ownEpoch != nil else { return }
            if node.tenure.isServing {
                takeAsOwner(event, number: number, over: edge.number, at: node)
            } else {
                node.eventsBeforeServing.append((edge.number, number, event))
            }
        case .adopt(let socket): adopt(socket, over: edge.number, at: node)
        case .adoptionComplete: passToTenure(.nodeAttached(edge.node), at: node)
        case .deposed(let epoch): passToTenure(.heardOf(epoch), at: node)
        case .revocation, .hello, .proof, .refused, .ping, .pong, .storeStalled, .confirmed, .command, .released: break
        }
    }

    /// Handles the end of a node's link: its sockets and requests are gone.
    func endedEdge(_ edge: SimulatedEdge, _ node: SimulatedNode) {
        guard node.edges[edge.number] === edge else { return }
        node.edges[edge.number] = nil
        node.eventsBeforeServing.removeAll { $0.link == edge.number }
        log("the link of \(edge.node.text) to \(node.name) has ended, with \(edge.sockets.count) sockets")
        for index in edge.sockets.sorted() { socketClosed(index, over: edge.number, at: node) }
        for index in edge.exchanges.sorted() { abandoned(index, over: edge.number, at: node) }
        passToTenure(.nodeDetached(edge.node), at: node)
    }

    /// Confirms the events whose changes are durable.
    func confirmEvents(at node: SimulatedNode) {
        guard node.tenure.ownEpoch != nil, !node.edges.isEmpty else { return }
        // Changes that are not committed yet go into the next commit.
        let box = node === owner ? switchboard : node.deposed?.switchboard
        let ticket = node.lastTicket + (box?.hasChanges == true ? 1 : 0)
        for edge in edges(of: node) {
            guard let number = edge.confirmations.confirm(after: ticket, durable: node.durableTicket) else { continue }
            send(.confirmed(upTo: number), over: edge.link, from: NodeLink.server)
        }
    }

    // MARK: Events

    /// Takes an event of a link; 0 = of this node.
    func takeAsOwner(_ event: EdgeEvent, number: UInt64, over link: Int, at node: SimulatedNode) {
        guard let edge = node.edges[link] else { return }
        takeAsOwner(event, over: link, at: node)
        edge.confirmations.handled = number
    }

    func takeAsOwner(_ event: EdgeEvent, over link: Int, at node: SimulatedNode) {
        let edge = node.edges[link]
        switch event {
        case .opened(let id, let principal, let device):
            let index = Int(id.rawValue)
            edge?.sockets.insert(index)
            if node === owner { opened(index) }
            decide(.opened(connection(index, link), principal, device: device), at: node)
        case .received(let id, let frame): receivedFromSocket(frame, on: Int(id.rawValue), over: link, at: node)
        case .ponged(let id, let ping):
            let index = Int(id.rawValue)
            if node === owner, links[index].isOpenAtServer {
                links[index].heardAt = now
                checker.confirm(index, by: devices[links[index].device])
            }
            decide(.ponged(connection(index, link), ping), at: node)
        case .closed(let id, _):
            edge?.sockets.remove(Int(id.rawValue))
            socketClosed(Int(id.rawValue), over: link, at: node)
        case .requested(let id, _, _):
            edge?.exchanges.insert(Int(id.rawValue))
            requestArrivesAtOwner(Int(id.rawValue), over: link, at: node)
        case .abandoned(let id):
            edge?.exchanges.remove(Int(id.rawValue))
            abandoned(Int(id.rawValue), over: link, at: node)
        case .openedSocketIO, .signOfLife, .tooSlow: break
        }
    }

    private func connection(_ index: Int, _ link: Int) -> ConnectionID {
        ConnectionID(rawValue: LinkNumber.number(UInt64(index), on: link))
    }

    private func opened(_ index: Int) {
        links[index].isOpenAtServer = true
        links[index].run = run
        links[index].edge.adoptedAt = now
        checker.visit("socket opens", by: devices[links[index].device], at: now)
    }

    func adopt(_ socket: AdoptedSocket, over link: Int, at node: SimulatedNode) {
        let index = Int(socket.socket.rawValue)
        node.edges[link]?.sockets.insert(index)
        if node === owner {
            statistics.adoptions += 1
            log("\(node.name) adopts socket \(index) of \(devices[links[index].device].id.text)")
            links[index].isOpenAtServer = true
            links[index].run = run
            links[index].edge.adoptedAt = now
        }
        let seen = Dictionary(socket.seen.map { ($0.call, $0.seq) }) { max($0, $1) }
        let id = connection(index, link)
        decide(
            .adopted(
                id,
                socket.principal,
                device: socket.device,
                assigned: socket.assigned,
                openFor: socket.openFor,
                seen: seen
            ),
            at: node
        )
    }

    private func receivedFromSocket(_ frame: [UInt8], on index: Int, over link: Int, at node: SimulatedNode) {
        let device = devices[links[index].device]
        log("\(device.id.text) → \(node.name): \(Ladder.text(frame, from: 0))")
        mix(frame)
        let isRepeatable = checker.noteSignal(frame, from: device)
        if node === owner {
            links[index].heardAt = now
            checker.confirm(index, by: device)
        }
        let comesTwice = node === owner && isRepeatable && networkDraws.percent(4)
        decide(.received(connection(index, link), frame), at: node, repeatable: comesTwice)
    }

    private func socketClosed(_ index: Int, over link: Int, at node: SimulatedNode) {
        if node === owner {
            links[index].endAtServer(at: now)
            checker.visit("socket closes", by: devices[links[index].device], at: now)
        }
        decide(.closed(connection(index, link)), at: node, repeatable: node === owner && networkDraws.percent(10))
    }

    // MARK: Requests

    private func requestArrivesAtOwner(_ index: Int, over link: Int, at node: SimulatedNode) {
        let id = RequestID(rawValue: LinkNumber.number(UInt64(index), on: link))
        // The request waited for an owner; its app has ended since, and the system has closed the connection.
        guard !isRegistrationOfEarlierRun(requests[index], atOwner: true) else { return }
        guard node !== owner else { return requestReaches(index, as: id) }
        guard node.deposed != nil, let (principal, asked) = readRequest(index, as: id, at: node) else { return }
        if case .signal(let message) = asked, let peer = message.to, let name = message.id {
            checker.intendedPeer["\(devices[requests[index].device].id.text) \(name.text)"] = peer
        }
        decide(.requested(id, principal, asked), at: node)
    }

    private func abandoned(_ index: Int, over link: Int, at node: SimulatedNode) {
        if node === owner { requests[index].isAtServer = false }
        decide(.abandoned(RequestID(rawValue: LinkNumber.number(UInt64(index), on: link))), at: node)
    }

    /// Sends the response to a request to the node that has the request.
    func sendReply(_ reply: Reply, to id: RequestID, from node: SimulatedNode) {
        let link = LinkNumber.link(of: id.rawValue)
        let index = LinkNumber.edgeNumber(id.rawValue)
        guard link > 0 else { return respond(Int(index), status: reply.status, body: reply.body, at: node) }
        guard let edge = node.edges[link] else { return }
        edge.exchanges.remove(Int(index))
        let response = EdgeResponse(status: UInt16(clamping: reply.status), body: reply.body)
        send(.command(.respond(EdgeExchangeID(rawValue: index), response)), over: edge.link, from: NodeLink.server)
    }

    // MARK: Inputs and outputs of the switchboard

    /// Passes an input to the switchboard of a node.
    func decide(_ input: Switchboard.Input, at node: SimulatedNode, repeatable: Bool = false) {
        if node === owner {
            serve(input, repeatable: repeatable)
        } else if let box = node.deposed?.switchboard {
            var outputs: [Switchboard.Output] = []
            box.handle(input, at: moment(of: node), into: &outputs)
            box.flush(at: moment(of: node), into: &outputs)
            for output in outputs { performDeposed(output, at: node) }
        }
    }

    /// Carries out an output of the owner that concerns its store or a socket; returns `false` for every other one.
    func performAtNode(_ output: Switchboard.Output, _ node: SimulatedNode) -> Bool {
        switch output {
        case .send(let id, let bytes):
            let index = Int(LinkNumber.edgeNumber(id.rawValue))
            guard links[index].isOpenAtServer else { return true }
            statistics.frames += 1
            let frame = parsed(bytes)
            checker.sent(frame, to: devices[links[index].device], on: index, at: now)
            checker.checkDurable(frame, to: devices[links[index].device].user)
            pass(bytes, to: id, from: node)
        case .marked(let id, let call, let seq): mark(id, LogMark(call, seq: seq), at: node)
        case .bound(let id, let isBound): bind(id, isBound, at: node)
        case .ping(let id, let number):
            links[Int(LinkNumber.edgeNumber(id.rawValue))].pingedAt = now
            ping(id, number, from: node)
        case .close(let id, let code, _, let isLost):
            links[Int(LinkNumber.edgeNumber(id.rawValue))].endAtServer(at: now)
            close(id, code: code, discardingQueue: isLost, from: node)
        case .verify(let id, let name, _):
            let device = devices[links[Int(LinkNumber.edgeNumber(id.rawValue))].device]
            serve(.verified(id, id: name, .success(device.principal)))
        case .submit(let query, let id):
            node.store?.queue.append(.query(query, id))
            if let store = node.store { pump(store, node) }
        default: return false
        }
        return true
    }

    func commitAtNode(_ changes: [Change], _ ticket: Ticket, _ node: SimulatedNode) {
        node.lastTicket = max(node.lastTicket, ticket.rawValue)
        // A store that was closed takes nothing more.
        guard let store = node.store, store.release == nil || node.isReleasing else { return }
        store.queue.append(.commit(changes, ticket))
        pump(store, node)
    }

    private func performDeposed(_ output: Switchboard.Output, at node: SimulatedNode) {
        guard let deposed = node.deposed else { return }
        switch output {
        case .send(let id, let bytes):
            statistics.deposedFrames += 1
            let index = Int(LinkNumber.edgeNumber(id.rawValue))
            checker.checkDeposed(parsed(bytes), to: devices[links[index].device].user, by: deposed)
            pass(bytes, to: id, from: node)
        case .marked(let id, let call, let seq): mark(id, LogMark(call, seq: seq), at: node)
        case .bound(let id, let isBound): bind(id, isBound, at: node)
        case .ping(let id, let number): ping(id, number, from: node)
        case .close(let id, let code, _, let isLost): close(id, code: code, discardingQueue: isLost, from: node)
        case .commit(let changes, let ticket):
            node.deposed?.refused(changes, as: ticket)
            commitAtNode(changes, ticket, node)
        case .submit(_, let id):
            let failure = StoreResult.failed(StoreFailure("another server owns the calls"))
            guard let store = node.store else { return }
            after(nodeDraws.within(1...20), node, .report(store: store.number, .queryResult(id, failure)))
        case .verify(let id, let name, _):
            let device = devices[links[Int(LinkNumber.edgeNumber(id.rawValue))].device]
            decide(.verified(id, id: name, .success(device.principal)), at: node)
        case .push(let push):
            checker.checkDeposed(push, by: deposed)
            after(nodeDraws.within(5...60), node, .pushArrives(push, run: deposed.run))
        case .cancelPush(let id): node.deposed?.cancelled.insert(id)
        case .reply(let id, let reply):
            let index = Int(LinkNumber.edgeNumber(id.rawValue))
            checkDeposed(reply, to: index, by: deposed)
            sendReply(reply, to: id, from: node)
        case .revoked, .done, .note, .audit, .trace: break
        }
    }

    // MARK: Commands to sockets

    private func pass(_ bytes: [UInt8], to id: ConnectionID, from node: SimulatedNode) {
        let link = LinkNumber.link(of: id.rawValue)
        let index = Int(LinkNumber.edgeNumber(id.rawValue))
        guard link > 0 else {
            if node.sockets.contains(index), links[index].edge.isOpen { writesDown(parsed(bytes), on: index) }
            return
        }
        guard let edge = node.edges[link] else { return }
        var marks: [LogMark] = []
        if let next = edge.mark, next.socket == index { marks = [next.mark] }
        edge.mark = nil
        let command = OwnerCommand.send(Frame(withHeadroom: bytes), EdgeSocketID(rawValue: UInt64(index)), marks: marks)
        send(.command(command), over: edge.link, from: NodeLink.server)
    }

    private func mark(_ id: ConnectionID, _ mark: LogMark, at node: SimulatedNode) {
        node.edges[LinkNumber.link(of: id.rawValue)]?.mark = (Int(LinkNumber.edgeNumber(id.rawValue)), mark)
    }

    private func bind(_ id: ConnectionID, _ isBound: Bool, at node: SimulatedNode) {
        command(.bind(EdgeSocketID(rawValue: LinkNumber.edgeNumber(id.rawValue)), isBound), to: id, from: node)
    }

    private func ping(_ id: ConnectionID, _ number: UInt64, from node: SimulatedNode) {
        let socket = EdgeSocketID(rawValue: LinkNumber.edgeNumber(id.rawValue))
        guard LinkNumber.link(of: id.rawValue) > 0 else { return carryOut(.ping(socket, number), at: node) }
        command(.ping(socket, number), to: id, from: node)
    }

    private func close(_ id: ConnectionID, code: UInt16, discardingQueue: Bool, from node: SimulatedNode) {
        let socket = EdgeSocketID(rawValue: LinkNumber.edgeNumber(id.rawValue))
        guard LinkNumber.link(of: id.rawValue) > 0 else {
            return closeSocket(Int(socket.rawValue), code: code, at: node)
        }
        command(.close(socket, code: code, reason: "", discardingQueue: discardingQueue), to: id, from: node)
    }

    private func command(_ command: OwnerCommand, to id: ConnectionID, from node: SimulatedNode) {
        guard let edge = node.edges[LinkNumber.link(of: id.rawValue)] else { return }
        send(.command(command), over: edge.link, from: NodeLink.server)
    }
}
