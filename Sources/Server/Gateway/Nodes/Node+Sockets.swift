import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Nodes
import Switchboard

/// The sockets and requests of this node, while another node, or none, owns the calls, and at the end.
extension Node {
    /// Handles an event of this node's sockets.
    /// - Returns: `false` if the event concerns this node alone.
    func passOn(_ event: SocketEvent) -> Bool {
        switch event {
        case .requested(let id, let head, _):
            guard !head.isForThisNode else { return false }
            gateway.requests.open.insert(id)
            // The owner's response has its CORS headers; only a refusal by this node needs the origin.
            if let origin = head.origin { gateway.requests.origins[id] = origin }
        case .abandoned(let id):
            gateway.requests.open.remove(id)
            gateway.requests.origins[id] = nil
        case .opened, .openedSocketIO, .received, .ponged, .signOfLife, .tooSlow, .closed: break
        }
        handle(.socketEvent(event, isLinkFull: isOwnerLinkFull))
        return true
    }

    /// Responds to a request for which there is no owner at present.
    func refuse(_ request: RequestID) {
        let error = WireError(.draining, "the calls are moving to another node: try again")
        gateway.respond(Reply(error, retryAfterSeconds: 1), to: request)
    }

    // MARK: The end

    /// Releases the calls, if the node owns them, and closes this node's connections: the process terminates.
    func drain() {
        server.stopListeningForStreams()
        handle(.terminate)
    }

    /// Closes this node's connections, and responds to the requests that nobody will respond to any more.
    ///
    /// Each device is told when to reconnect, as by a server that is alone.
    func closeOwnSockets(_ sockets: [NodeMachine.DrainedSocket]) {
        for request in gateway.requests.open.sorted(by: { $0.rawValue < $1.rawValue }) { refuse(request) }
        tellWhenToReconnect(sockets)
        gateway.closeAll(code: 1001, reason: "the server is shutting down; reconnect")
    }

    private func tellWhenToReconnect(_ sockets: [NodeMachine.DrainedSocket]) {
        guard let ownLoop = gateway.loops.own, !farewell.isSaid else { return }
        farewell.isSaid = true
        var random = SystemRandomNumberGenerator()
        let own = sockets.map {
            (id: $0.socket, mayBeInCall: $0.mayBeInCall, isWelcome: $0.isWelcome)
        }
        let former = farewell.formerConnections.map { (id: $0.id, mayBeInCall: $0.isInCall, isWelcome: true) }
        let order = (own + former).shuffled(using: &random)
        let schedule = ReconnectSchedule(of: order.count, grace: gateway.configuration.policy.grace)
        for (place, socket) in (order.filter(\.mayBeInCall) + order.filter { !$0.mayBeInCall }).enumerated() {
            let delay = schedule.delay(of: place, using: &random)
            // No message comes before `welcome`; then the close reason alone says when to reconnect.
            if socket.isWelcome {
                gateway.sendFrame(
                    Frame(withHeadroom: ServerFrame.draining(reconnectAfterMs: delay)),
                    to: socket.id,
                    ownLoop
                )
            }
            gateway.close(socket.id, code: 1001, reason: ReconnectSchedule.reason(delay))
        }
    }
}

extension RequestHead {
    /// Whether this node responds to the request itself, whoever owns the calls: to an operator or a load balancer.
    var isForThisNode: Bool { listener == Gateway.adminListener || Gateway.healthPaths.contains(path) }
}
