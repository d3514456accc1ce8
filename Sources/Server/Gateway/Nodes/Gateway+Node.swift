import CallCore
package import CallPorts
import CallWire
import LibWebSockets
import Nodes
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
        senders: Senders,
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
            senders: senders,
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

    /// Ends the run because another node owns the calls; the process re-executes.
    func endForNewRun() {
        guard !isDraining else { return }
        ending.needsNewRun = true
        beginDraining()
    }

    // MARK: Events and commands

    /// Counts the connect of another node's user, and opens the connection if the user does not connect too often.
    func admit(_ socket: SocketID, _ principal: Principal, device: DeviceID?) {
        guard let refusal = router.connects.refusal(of: principal, at: now) else {
            return feed(.opened(socket, principal, device: device))
        }
        close(socket, code: 4429, reason: refusal.message)
    }

    /// Gives the switchboard a socket that it has not opened itself; 0 = the link of this node's own sockets.
    func adopt(_ socket: AdoptedSocket, over link: Int) {
        feed(
            .adopted(
                socket.socket.over(link),
                socket.principal,
                device: socket.device,
                assigned: socket.assigned,
                openFor: socket.openFor,
                seen: socket.seenByCall
            )
        )
    }

    /// Handles a WebSocket of Engine.IO that was opened at an edge, which does not know the sessions.
    func openedSocketIO(_ socket: SocketID, _ head: RequestHead) {
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
    func carryOutOwnerCommand(_ command: SocketCommand) {
        switch command {
        case .send(let frame, let socket, _): if let ownLoop = loops.own { sendFrame(frame, to: socket, ownLoop) }
        case .ping(let socket, _), .close(let socket, _, _, _): carryOut(command, for: socket.rawValue)
        case .respond(let id, let response):
            requests.origins[id] = nil
            respond(id, with: response)
        case .markAuthenticated(let id): markAuthenticated(for: id)
        case .revoke(let user, let moment): router.revocations.note(user, upTo: moment)
        case .bind, .assign: break
        }
    }
}
