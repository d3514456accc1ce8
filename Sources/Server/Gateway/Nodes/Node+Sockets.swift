import CallCore
import CallPorts
import CallWire
import Cluster
import LibWebSockets
import Switchboard

/// The sockets and requests of this node, while another node, or none, owns the calls, and at the end.
extension Node {
    /// Handles an event of this node's sockets.
    /// - Returns: `false` if the event concerns this node alone.
    func passOn(_ event: LoopEvent) -> Bool {
        switch event {
        case .opened(let socket, let admission):
            pass(.opened(EdgeSocketID(socket), admission.principal, device: admission.device))
        case .forwardedSocketIO(let socket, let head):
            pass(.openedSocketIO(EdgeSocketID(socket), EdgeRequestHead(head)))
        case .openedSocketIO(let socket, _):
            // The socket was admitted before this node stopped deciding.
            gateway.close(socket, code: 1001, reason: "the server is moving; reconnect")
        case .received(let socket, let bytes): pass(.received(EdgeSocketID(socket), bytes))
        case .ponged(let socket, let number): pass(.ponged(EdgeSocketID(socket), number))
        case .signOfLife(let socket): pass(.signOfLife(EdgeSocketID(socket)))
        case .tooSlow(let socket): pass(.tooSlow(EdgeSocketID(socket)))
        case .closed(let socket, let code): pass(.closed(EdgeSocketID(socket), code: code))
        case .forwarded(let exchange, let head, let body):
            openExchanges.insert(exchange)
            // The owner's response has its CORS headers; only a refusal by this node needs the origin.
            if let origin = head.origin { gateway.origins[exchange] = origin }
            pass(.requested(EdgeExchangeID(exchange), EdgeRequestHead(head), body: body))
        case .requested(let exchange, _):
            // The request was routed before this node stopped deciding.
            refuse(exchange)
        case .abandoned(let exchange):
            openExchanges.remove(exchange)
            gateway.origins[exchange] = nil
            pass(.abandoned(EdgeExchangeID(exchange)))
        case .requestedByOperator, .healthRequested, .counted: return false
        }
        return true
    }

    private func pass(_ event: EdgeEvent) { handle(.socketEvent(event, isLinkFull: isOwnerLinkFull)) }

    /// Responds to a request for which there is no owner at present.
    func refuse(_ exchange: ExchangeID) {
        let error = WireError(.draining, "the calls are moving to another node: try again")
        gateway.respond(Reply(error, retryAfterSeconds: 1), to: exchange)
    }

    // MARK: The end

    /// Releases the calls, if the node owns them, and closes this node's connections; the process is to end.
    func drain() {
        server.stopListeningForStreams()
        handle(.terminate)
    }

    /// Closes this node's connections, and responds to the requests that nobody will respond to any more.
    ///
    /// Each device is told when to reconnect, as by a server that is alone.
    func closeOwnSockets(_ sockets: [NodeMachine.DrainedSocket]) {
        for exchange in openExchanges.sorted(by: { $0.rawValue < $1.rawValue }) { refuse(exchange) }
        tellWhenToReconnect(sockets)
        gateway.closeAll(code: 1001, reason: "the server is shutting down; reconnect")
    }

    private func tellWhenToReconnect(_ sockets: [NodeMachine.DrainedSocket]) {
        guard let ownLoop = gateway.ownLoop, !hasDrained else { return }
        hasDrained = true
        var random = SystemRandomNumberGenerator()
        let own = sockets.map {
            (id: SocketID(rawValue: $0.socket.rawValue), mayBeInCall: $0.mayBeInCall, isWelcome: $0.isWelcome)
        }
        let former = formerConnections.map { (id: $0.id, mayBeInCall: $0.isInCall, isWelcome: true) }
        let order = (own + former).shuffled(using: &random)
        let schedule = ReconnectSchedule(of: order.count, grace: gateway.configuration.policy.grace)
        for (place, socket) in (order.filter(\.mayBeInCall) + order.filter { !$0.mayBeInCall }).enumerated() {
            let delay = schedule.delay(of: place, using: &random)
            // No message comes before `welcome`; then the close reason alone says when to reconnect.
            if socket.isWelcome {
                gateway.send(Frame(withHeadroom: ServerFrame.draining(reconnectAfterMs: delay)), to: socket.id, ownLoop)
            }
            gateway.close(socket.id, code: 1001, reason: ReconnectSchedule.reason(delay))
        }
    }
}

extension EdgeSocketID {
    init(_ socket: SocketID) { self.init(rawValue: LinkNumber.edgeNumber(socket.rawValue)) }
}

extension EdgeExchangeID {
    init(_ exchange: ExchangeID) { self.init(rawValue: LinkNumber.edgeNumber(exchange.rawValue)) }
}
