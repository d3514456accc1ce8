import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Nodes
import ServerLog
import Switchboard

/// The links of a node.
extension Node: LinkDelegate {
    /// Accepts links.
    func listen() throws(ServerError) {
        _ = try server.listenForStreams(host: configuration.listen.host, port: configuration.listen.port) {
            [unowned self] stream in accept(stream)
        }
    }

    private func accept(_ stream: TCPStream) {
        links.unproven.append(Link(machine.nextLink(), stream, as: .server, key: links.key, delegate: self, at: now))
        if let place = UnprovenLinks.surplus(links.unproven.map(\.stream.peerAddress)) {
            links.unproven.remove(at: place).close()
        }
    }

    func connect(_ link: LinkID, to address: String) {
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]) else {
            return handle(.connectFailed(link, reason: "the address is not HOST:PORT"))
        }
        let host = address[..<colon].drop { $0 == "[" }.prefix { $0 != "]" }
        links.attempt = server.connect(toHost: String(host), port: port) { [unowned self] result in
            links.attempt = nil
            switch result {
            case .success(let stream):
                links.byID[link] = Link(link, stream, as: .client, key: links.key, delegate: self, at: now)
                handle(.connected(link))
            case .failure(.refused): handle(.connectRefused(link))
            case .failure(.failed(let reason)): handle(.connectFailed(link, reason: reason))
            }
        }
    }

    /// Ends a link, or the attempt to open it, at once.
    func close(_ link: LinkID) {
        if let link = links.byID.removeValue(forKey: link) { return link.close() }
        links.attempt?.cancel()
        links.attempt = nil
    }

    /// Adds a frame to those that are written to a link at the end of the turn.
    func sendNodeFrame(_ frame: NodeFrame, over id: LinkID) {
        guard let link = links.byID[id], !link.send(frame), case .event(_, let event) = frame else { return }
        // A frame has room for nearly everything that the server accepts: only odd requests and tokens do not fit.
        var problem = Response.problem(413, code: "too_large", message: "the request's head is too large")
        if case .requested(_, let head, _) = event {
            problem.headers = gateway.router.refusalHeaders(for: head)
        }
        handle(.eventTooLarge(event, response: problem))
    }

    // MARK: LinkDelegate

    func hello(challenge: [UInt8]) -> Hello { machine.hello(challenge: challenge) }

    func opened(_ link: Link, by peer: Hello) {
        links.unproven.removeAll { $0 === link }
        links.byID[link.id] = link
        handle(.linkOpened(link.id, peer))
    }

    func frameReceived(_ frame: NodeFrame, on link: Link) { handle(.frameReceived(link.id, frame)) }

    func ended(_ link: Link, _ end: LinkEnd) {
        links.unproven.removeAll { $0 === link }
        links.byID[link.id] = nil
        handle(.linkEnded(link.id, end, peer: link.peer))
    }

    // MARK: Commands to other nodes

    /// The link of the node that has the socket or request of this number.
    private func link(of number: UInt64) -> Link? { machine.link(of: number).flatMap { links.byID[$0] } }

    /// The bytes that wait for the node that has a socket.
    func bytesWaiting(with socket: SocketID) -> Int { link(of: socket.rawValue)?.bytesWaiting ?? 0 }

    /// Whether so much waits for the owner that clients must not send more.
    var isOwnerLinkFull: Bool {
        machine.ownerLinkID.flatMap { links.byID[$0] }.map { $0.bytesWaiting > LoopLimits.events } ?? false
    }

    /// Sends a frame to a socket of another node; returns `false` if too much already waits for that node.
    func sendFrame(_ frame: Frame, to socket: SocketID) -> Bool {
        guard let link = link(of: socket.rawValue) else { return true }
        guard link.bytesWaiting + frame.bytes.count <= LoopLimits.commands else { return false }
        link.send(.command(.send(frame, socket.atEdge, marks: machine.marks(of: socket.rawValue))))
        return true
    }

    /// Sends a command to the node that has the socket or request of this number.
    func sendCommand(_ command: SocketCommand, to number: UInt64) {
        guard let link = link(of: number) else { return }
        let isSent = link.send(.command(command.atEdge))
        guard case .respond(let id, _) = command else { return }
        machine.responded(to: number)
        guard !isSent else { return }
        let problem = Response.problem(500, code: "internal_error", message: "the response is too large")
        link.send(.command(.respond(id.atEdge, problem)))
    }

    /// Tells a socket's node which id the device of its client has been given.
    func assignDevice(to socket: SocketID, over link: Int) {
        let id = socket.over(link)
        guard let device = gateway.switchboard?.device(of: id) else { return }
        sendCommand(.assign(id, device), to: id.rawValue)
    }
}
