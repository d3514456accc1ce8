import CallCore
import CallPorts
import CallWire
import Nodes
import SeededRandom
import Switchboard

/// The node as the owner, which may be deposed without knowing it: the inputs and outputs of its switchboard.
extension NodesServer {
    /// Passes an event of a link to the switchboard, as `Gateway` does; 0 = of this node.
    func decideEvent(_ event: SocketEvent, over link: Int, at node: SimulatedNode) {
        switch event {
        case .opened(let id, let principal, let device):
            let index = Int(id.rawValue)
            if node === owner { opened(index) }
            decide(.opened(connection(index, link), principal, device: device), at: node)
        case .received(let id, let frame): receivedFromSocket(frame, on: Int(id.rawValue), over: link, at: node)
        case .ponged(let id, let ping):
            let index = Int(id.rawValue)
            if node === owner, network.links[index].isOpenAtServer {
                network.links[index].heardAt = now
                checker.confirm(index, by: network.devices[network.links[index].device])
            }
            decide(.ponged(connection(index, link), ping), at: node)
        case .closed(let id, _): socketClosed(Int(id.rawValue), over: link, at: node)
        case .requested(let id, _, _): requestArrivesAtOwner(Int(id.rawValue), over: link, at: node)
        case .abandoned(let id): abandoned(Int(id.rawValue), over: link, at: node)
        case .openedSocketIO, .signOfLife, .tooSlow: break
        }
    }

    private func connection(_ index: Int, _ link: Int) -> SocketID {
        SocketID(rawValue: LinkNumber.number(UInt64(index), on: link))
    }

    private func opened(_ index: Int) {
        network.links[index].isOpenAtServer = true
        network.links[index].run = turns.run
        network.links[index].adoptedAt = now
        checker.visit("socket opens", by: network.devices[network.links[index].device], at: now)
    }

    func adopt(_ socket: AdoptedSocket, over link: Int, at node: SimulatedNode) {
        let index = Int(socket.socket.rawValue)
        network.links[index].writtenBeforeAdoption = network.links[index].written
        if node === owner {
            if network.links[index].isOpenAtServer {
                fail("I3", "\(node.name) adopts socket \(index), which it has already over an earlier link")
            }
            statistics.adoptions += 1
            log("\(node.name) adopts socket \(index) of \(network.devices[network.links[index].device].id.text)")
            network.links[index].isOpenAtServer = true
            network.links[index].run = turns.run
            network.links[index].adoptedAt = now
        }
        let id = connection(index, link)
        decide(
            .adopted(
                id,
                socket.principal,
                device: socket.device,
                assigned: socket.assigned,
                openFor: socket.openFor,
                seen: socket.seenByCall
            ),
            at: node
        )
        if node === owner { checkID(of: index, as: turns.switchboard?.device(of: id)) }
    }

    /// Checks that a socket that was adopted keeps the device that its `welcome` named (I3); `nil` = it was closed.
    private func checkID(of index: Int, as id: DeviceID?) {
        let device = network.device(of: index)
        guard let id, device.link == index, !device.isConnecting, id != device.id else { return }
        fail("I3", "\(device.id.text) is \(id.text) for the owner that has adopted its socket")
    }

    private func receivedFromSocket(_ frame: [UInt8], on index: Int, over link: Int, at node: SimulatedNode) {
        let device = network.devices[network.links[index].device]
        log("\(device.id.text) → \(node.name): \(Ladder.text(frame, from: 0))")
        mix(frame)
        if MessageReader.object(frame)?.text(of: .type) == "sync" { network.links[index].writtenBeforeAdoption = [:] }
        let isRepeatable = checker.noteSignal(frame, from: device)
        if node === owner {
            network.links[index].heardAt = now
            checker.confirm(index, by: device)
            checker.endArrives(frame, from: device)
        }
        let comesTwice = node === owner && isRepeatable && draws.network.percent(4)
        decide(.received(connection(index, link), frame), at: node, repeatable: comesTwice)
    }

    private func socketClosed(_ index: Int, over link: Int, at node: SimulatedNode) {
        if node === owner {
            network.links[index].endAtServer(at: now)
            checker.visit("socket closes", by: network.devices[network.links[index].device], at: now)
        }
        decide(.closed(connection(index, link)), at: node, repeatable: node === owner && draws.network.percent(10))
    }

    // MARK: Requests

    private func requestArrivesAtOwner(_ index: Int, over link: Int, at node: SimulatedNode) {
        let id = RequestID(rawValue: LinkNumber.number(UInt64(index), on: link))
        // The request waited for an owner; its app has ended since, and the system has closed the connection.
        guard !requests.isRegistrationOfEarlierRun(requests.all[index], atOwner: true) else { return }
        guard node === owner || node.deposed != nil else { return }
        do throws(WireError) {
            let (principal, asked) = try requests.read(index)
            let input = Switchboard.Input.requested(id, principal, asked)
            if node === owner {
                requests.all[index].link = node.machine.link(of: id.rawValue)
                return turns.serve(input, repeatable: requests.reached(index, asked))
            }
            if case .signal(let message) = asked, let peer = message.to, let name = message.id {
                checker.intendedPeer["\(requests.device(of: index).id.text) \(name.text)"] = peer
            }
            decide(input, at: node)
        } catch { sendReply(Reply(error), to: id, from: node) }
    }

    private func abandoned(_ index: Int, over link: Int, at node: SimulatedNode) {
        if node === owner { requests.all[index].isAtServer = false }
        decide(.abandoned(RequestID(rawValue: LinkNumber.number(UInt64(index), on: link))), at: node)
    }

    /// Sends the response to a request to the node that has the request.
    private func sendReply(_ reply: Reply, to id: RequestID, from node: SimulatedNode) {
        let link = LinkNumber.link(of: id.rawValue)
        let index = LinkNumber.edgeNumber(id.rawValue)
        guard link > 0 else { return respond(Int(index), status: reply.status, body: reply.body, at: node) }
        node.machine.responded(to: id.rawValue)
        let response = Response(status: reply.status, body: reply.body)
        command(.respond(RequestID(rawValue: index), response), to: id.rawValue, from: node)
    }

    /// Passes an input to the switchboard of a node.
    func decide(_ input: Switchboard.Input, at node: SimulatedNode, repeatable: Bool = false) {
        if node === owner {
            turns.serve(input, repeatable: repeatable)
        } else if let box = node.deposed?.switchboard {
            var outputs: [Switchboard.Output] = []
            box.handle(input, at: moment(of: node), into: &outputs)
            box.flush(at: moment(of: node), into: &outputs)
            for output in outputs { performDeposed(output, at: node) }
        }
    }

    func decideRevocation(_ revocation: NodeMachine.PendingRevocation, before moment: Moment, at node: SimulatedNode) {
        revocations.lastCommand += 1
        let id = OperatorCommandID(rawValue: revocations.lastCommand)
        revocations.commands[id] = revocation
        decide(.operatorCommand(id, .revoke(revocation.user, before: moment)), at: node)
    }

    /// Carries out an output of a switchboard that concerns revocations.
    private func performRevocation(_ output: Switchboard.Output, at node: SimulatedNode) {
        switch output {
        case .revoked(let user, let moment):
            node.revokedUsers[user] = moment
            pass(.revoked(user, upTo: moment), to: node)
        case .done(let id):
            if let revocation = revocations.commands.removeValue(forKey: id) {
                pass(.revocationDurable(revocation), to: node)
            }
        default: break
        }
    }

    // MARK: Outputs

    func carryOut(_ output: Switchboard.Output) {
        guard let node = owner else { return }
        switch output {
        case .send(let id, let bytes):
            let index = Int(LinkNumber.edgeNumber(id.rawValue))
            guard network.links[index].isOpenAtServer else { return }
            statistics.frames += 1
            let frame = network.parsed(bytes)
            checker.sent(frame, to: network.device(of: index), on: index, at: now)
            checker.checkDurable(frame, to: network.device(of: index).user)
            pass(bytes, to: id, from: node)
        case .ping(let id, let number):
            network.links[Int(LinkNumber.edgeNumber(id.rawValue))].pingedAt = now
            ping(id, number, from: node)
        case .close(let id, let code, _, let isLost):
            network.links[Int(LinkNumber.edgeNumber(id.rawValue))].endAtServer(at: now)
            close(id, code: code, discardingQueue: isLost, from: node)
        case .reply(let id, let reply) where Backend.isRead(id): backend?.replied(reply, to: id)
        case .reply(let id, let reply) where Decider.isOfCrowd(id): backend?.decider?.replied(reply, to: id)
        case .reply(let id, let reply):
            let index = Int(LinkNumber.edgeNumber(id.rawValue))
            guard requests.checkReply(reply, to: index) else { return }
            checkLink(ofRequest: index, number: id.rawValue, at: node)
            sendReply(reply, to: id, from: node)
        case .commit(let changes, let ticket): commit(changes, ticket, of: node)
        case .submit(let query, let id):
            node.store?.queue.append(.query(query, id))
            if let store = node.store { database.pump(store, node) }
        case .push(let push): after(pushes.ordered(push), node, .pushArrives(push, run: turns.run))
        case .deliver(let request): deliver(request, by: turns.run, node)
        case .ask(let question): ask(question, by: turns.run, node)
        default: carryOutShared(output, at: node)
        }
    }

    /// Carries out an output for which it makes no difference whether another node owns the calls.
    private func carryOutShared(_ output: Switchboard.Output, at node: SimulatedNode) {
        switch output {
        case .marked(let id, let call, let seq): node.machine.mark(id.rawValue, LogMark(call, seq: seq))
        case .bound(let id, let isBound): bind(id, isBound, at: node)
        case .ping(let id, let number): ping(id, number, from: node)
        case .close(let id, let code, _, let isLost): close(id, code: code, discardingQueue: isLost, from: node)
        case .verify(let id, let name, _):
            let device = network.device(of: Int(LinkNumber.edgeNumber(id.rawValue)))
            decide(.verified(id, id: name, .success(device.principal)), at: node)
        case .revoked, .done: performRevocation(output, at: node)
        default: break
        }
    }

    private func commit(_ changes: [Change], _ ticket: Ticket, of node: SimulatedNode) {
        node.machine.lastTicket = max(node.machine.lastTicket, ticket.rawValue)
        // A store that was closed takes nothing more.
        guard let store = node.store, store.release == nil || node.isReleasing else { return }
        store.queue.append(.commit(changes, ticket))
        database.pump(store, node)
    }

    private func performDeposed(_ output: Switchboard.Output, at node: SimulatedNode) {
        guard let deposed = node.deposed else { return }
        switch output {
        case .send(let id, let bytes):
            statistics.deposedFrames += 1
            let user = network.device(of: Int(LinkNumber.edgeNumber(id.rawValue))).user
            checker.checkDeposed(network.parsed(bytes), to: user, by: deposed)
            pass(bytes, to: id, from: node)
        case .commit(let changes, let ticket):
            node.deposed?.refused(changes)
            commit(changes, ticket, of: node)
        case .submit(_, let id):
            let failure = StoreResult.failed(StoreFailure("another server owns the calls"))
            guard let store = node.store else { return }
            after(draws.nodes.within(1...20), node, .report(store: store.number, .queryResult(id, failure)))
        case .push(let push):
            checker.checkDeposed(push, by: deposed)
            after(draws.nodes.within(5...60), node, .pushArrives(push, run: deposed.run))
        case .cancelPush(let id): node.deposed?.cancelled.insert(id)
        case .deliver(let request): deliver(request, by: deposed.run, node)
        case .ask(let question): ask(question, by: deposed.run, node)
        case .reply(let id, let reply) where Backend.isRead(id): backend?.replied(reply, to: id)
        case .reply(let id, _) where Decider.isOfCrowd(id): break
        case .reply(let id, let reply):
            let index = Int(LinkNumber.edgeNumber(id.rawValue))
            checkDeposed(reply, to: index, by: deposed)
            sendReply(reply, to: id, from: node)
        default: carryOutShared(output, at: node)
        }
    }

    // MARK: The app's backend

    /// Passes the result of a request to the owner that has sent it, deposed or not.
    func deliveryEnds(_ id: DeliveryID, _ result: DeliveryResult, _ run: Int, _ node: SimulatedNode) {
        backend?.told.resulted(id, by: run)
        if node === owner, run == turns.run {
            turns.delivered(run, id, result)
        } else if node.deposed?.run == run {
            decide(.delivered(id, result), at: node)
        }
    }

    /// Passes an answer to the owner that has asked, deposed or not.
    func decided(_ id: DecisionID, _ answer: DecisionAnswer, _ run: Int, _ node: SimulatedNode) {
        if node === owner, run == turns.run {
            turns.decided(run, id, answer)
        } else if node.deposed?.run == run {
            decide(.decided(id, answer.result), at: node)
        }
    }

    /// Reads the feed at the owner.
    func readFeed(_ feed: Switchboard.FeedRead, as id: RequestID) {
        guard let owner, owner.isServing, !owner.isStopped, let service = Backend.service else { return }
        turns.serve(.requested(id, service, .feed(feed)))
    }

    // MARK: Commands to sockets

    private func pass(_ bytes: [UInt8], to id: SocketID, from node: SimulatedNode) {
        let link = LinkNumber.link(of: id.rawValue)
        let index = Int(LinkNumber.edgeNumber(id.rawValue))
        guard link > 0 else {
            if node.sockets.contains(index), network.links[index].isOpenAtNode {
                network.writesAtNode(network.parsed(bytes), on: index)
            }
            return
        }
        let marks = node.machine.marks(of: id.rawValue)
        let command = SocketCommand.send(Frame(withHeadroom: bytes), SocketID(rawValue: UInt64(index)), marks: marks)
        self.command(command, to: id.rawValue, from: node)
    }

    /// Tells a socket's node which id the device of its client has been given.
    func assignDevice(to socket: SocketID, over link: Int, from node: SimulatedNode) {
        let id = SocketID(rawValue: LinkNumber.number(socket.rawValue, on: link))
        let box = node === owner ? turns.switchboard : node.deposed?.switchboard
        if let device = box?.device(of: id) { command(.assign(socket, device), to: id.rawValue, from: node) }
    }

    private func bind(_ id: SocketID, _ isBound: Bool, at node: SimulatedNode) {
        command(.bind(SocketID(rawValue: LinkNumber.edgeNumber(id.rawValue)), isBound), to: id.rawValue, from: node)
    }

    private func ping(_ id: SocketID, _ number: UInt64, from node: SimulatedNode) {
        let socket = SocketID(rawValue: LinkNumber.edgeNumber(id.rawValue))
        guard LinkNumber.link(of: id.rawValue) > 0 else { return carryOut(command: .ping(socket, number), at: node) }
        command(.ping(socket, number), to: id.rawValue, from: node)
    }

    private func close(_ id: SocketID, code: UInt16, discardingQueue: Bool, from node: SimulatedNode) {
        let socket = SocketID(rawValue: LinkNumber.edgeNumber(id.rawValue))
        guard LinkNumber.link(of: id.rawValue) > 0 else {
            return closeSocket(Int(socket.rawValue), code: code, at: node)
        }
        command(.close(socket, code: code, reason: "", discardingQueue: discardingQueue), to: id.rawValue, from: node)
    }

    /// Sends a command to the node that has the socket or request of this number.
    private func command(_ command: SocketCommand, to number: UInt64, from node: SimulatedNode) {
        guard let id = node.machine.link(of: number), let (link, end) = node.links[id] else { return }
        nodeLinks.post(.frame(.command(command)), over: link, from: end)
    }
}
