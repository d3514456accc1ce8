import CallCore
package import CallPorts
import CallWire
import Cluster
import LibWebSockets
import ServerLog
import SocketIO
package import Switchboard

/// A gateway that is one node of several.
extension Gateway {
    /// Opens the node: it listens for clients and for other nodes, and looks for the owner once ``run()`` is called.
    ///
    /// - Throws: `StoreFailure` or `ServerError`, each with a message of one sentence.
    package func open(
        as configuration: NodeConfiguration,
        register: any OwnershipRegister,
        push: any PushSender,
        ports: (_ secret: [UInt8]) -> Switchboard.Ports
    ) throws {
        let server = try listen()
        let secret = try answeringOperators { try register.open() }
        let node = Node(
            configuration,
            of: self,
            on: server,
            register: register,
            secret: secret,
            push: push,
            ports: ports(secret)
        )
        do throws(ServerError) {
            try listenForOperatorsAfterOpening(on: server)
            try node.listen()
            use(server)
            self.node = node
            passesEventsOn = true
            try startWorkers()
        } catch {
            self.node = nil
            register.close()
            throw error
        }
        server.post { [self] in self.node?.start() }
    }

    /// Handles a report of the ownership register; from any thread.
    package func handleOwnershipReport(_ report: OwnershipReport) {
        post { $0.node?.handleOwnershipReport(report) }
    }

    /// Ends the run because another node owns the calls; the process is to begin anew.
    func endForNewRun() {
        guard !isDraining else { return }
        needsNewRun = true
        beginDraining()
    }

    // MARK: Events and commands

    /// Handles an event of a link; 0 = of this node.
    func handleEdgeEvent(_ event: EdgeEvent, over link: Int) {
        func socket(_ id: EdgeSocketID) -> SocketID {
            SocketID(rawValue: LinkNumber.number(id.rawValue, on: link))
        }
        func exchange(_ id: EdgeExchangeID) -> ExchangeID {
            ExchangeID(rawValue: LinkNumber.number(id.rawValue, on: link))
        }
        switch event {
        case .opened(let id, let principal, let device):
            // The edge has counted only the connects to itself.
            if link != 0, let refusal = router.connects.refusal(of: principal, at: now) {
                return close(socket(id), code: 4429, reason: refusal.message)
            }
            decide(.opened(socket(id), Admission(principal: principal, device: device)))
        case .openedSocketIO(let id, let head): decide(.forwardedSocketIO(socket(id), RequestHead(head)))
        case .received(let id, let bytes): decide(.received(socket(id), bytes))
        case .ponged(let id, let number): decide(.ponged(socket(id), number))
        case .signOfLife(let id): decide(.signOfLife(socket(id)))
        case .tooSlow(let id): decide(.tooSlow(socket(id)))
        case .closed(let id, let code): decide(.closed(socket(id), code: code))
        case .requested(let id, let head, let body): decide(.forwarded(exchange(id), RequestHead(head), body))
        case .abandoned(let id): decide(.abandoned(exchange(id)))
        }
    }

    /// Gives the switchboard a socket that it has not opened itself; 0 = the link of this node's own sockets.
    func adopt(_ socket: AdoptedSocket, over link: Int) {
        feed(
            .adopted(
                ConnectionID(rawValue: LinkNumber.number(socket.socket.rawValue, on: link)),
                socket.principal,
                device: socket.device,
                assigned: socket.assigned,
                openFor: socket.openFor,
                seen: socket.seenByCall
            )
        )
    }

    /// Takes a request that was not routed yet, because it arrived at an edge.
    func takeForwarded(_ exchange: ExchangeID, _ head: RequestHead, _ body: [UInt8]) {
        switch router.checkRequest(head, body: body, as: exchange, now: now) {
        case .response(let response): respond(exchange, with: response)
        case .request(let request): take(request, exchange)
        }
    }

    /// Takes a WebSocket of Engine.IO that was opened at an edge, which does not know the sessions.
    func openedForwarded(_ socket: SocketID, _ head: RequestHead) {
        do throws(EngineRefusal) {
            let handshake = try router.handshake(head, transport: "websocket")
            if let refusal = router.connectRefusal(of: handshake) {
                close(socket, code: 4429, reason: refusal.message)
            } else {
                opened(socket, handshake)
            }
        } catch { close(socket, code: 1000, reason: "the session has ended or has another WebSocket") }
    }

    /// Carries out a command of the owner on a socket or a request of this node.
    func carryOutOwnerCommand(_ command: OwnerCommand) {
        switch command {
        case .send(let frame, let id, _):
            let socket = SocketID(rawValue: id.rawValue)
            if let ownLoop { send(frame, to: socket, ownLoop) }
        case .ping(let id, let number): ping(SocketID(rawValue: id.rawValue), number)
        case .close(let id, let code, let reason, let discardingQueue):
            close(SocketID(rawValue: id.rawValue), code: code, reason: reason, discardingQueue: discardingQueue)
        case .respond(let id, let response):
            origins[ExchangeID(rawValue: id.rawValue)] = nil
            respond(ExchangeID(rawValue: id.rawValue), with: HTTPResponse(response))
        case .markAuthenticated(let id): markAuthenticated(for: ExchangeID(rawValue: id.rawValue))
        case .revoke(let user, let moment):
            router.revocations.note(user, upTo: moment)
        case .bind, .assign: break
        }
    }
}
