import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// Handles Engine.IO's requests and upgrades.
extension Gateway {
    // MARK: Polling

    func take(_ handshake: EngineHandshake, posted body: [UInt8]?, _ exchange: RequestID) {
        switch handshake {
        case .known(let sid):
            guard let session = socketIO.bySID[sid] else {
                refuse(exchange, .sessionUnknown)
                return
            }
            if session.isJoined { markAuthenticated(for: exchange) }
            hand(body, exchange, to: session)
        case .new(let beginning):
            if let refusal = socketIO.index.refusal(of: handshake, by: router, for: requests.origins[exchange]) {
                requests.origins[exchange] = nil
                respond(exchange, with: refusal)
                return
            }
            if beginning.principal != nil { markAuthenticated(for: exchange) }
            let session = makeSession(beginning, isSocket: false)
            handle(.began, session)
            hand(nil, exchange, to: session)
        }
    }

    private func hand(_ body: [UInt8]?, _ exchange: RequestID, to session: SocketIOSession) {
        socketIO.byRequest[exchange] = session
        if let body {
            handle(.posted(exchange.rawValue, body), session)
        } else {
            handle(.polled(exchange.rawValue), session)
        }
    }

    /// Responds to one of Engine.IO's requests.
    func respond(_ request: UInt64, _ body: [UInt8], type: String, status: Int = 200) {
        let exchange = RequestID(rawValue: request)
        socketIO.byRequest[exchange] = nil
        let headers = router.commonHeaders(for: requests.origins.removeValue(forKey: exchange), isSocketIO: true)
        respond(
            exchange,
            with: Response(status: status, contentType: type, headers: headers, body: body)
        )
    }

    func refuse(_ exchange: RequestID, _ refusal: EngineRefusal) {
        router.logRefusedSession(refusal)
        respond(exchange.rawValue, refusal.body, type: "application/json", status: refusal.status)
    }

    // MARK: WebSockets

    /// Attaches an open WebSocket to the session that its handshake names, or to a new one.
    ///
    /// The WebSocket's loop admitted it according to the ``SessionIndex``. Since then, the state of the sessions may
    /// have changed.
    func opened(_ socket: SocketID, _ handshake: EngineHandshake) {
        let session: SocketIOSession
        switch handshake {
        case .known(let sid):
            guard let polling = socketIO.bySID[sid], polling.machine.phase != .over, polling.socket == nil else {
                rejectLate(socket)
                return
            }
            session = polling
            attach(socket, to: session)
        case .new(let beginning):
            guard socketIO.index.refusal(of: handshake, by: router, for: nil) == nil else {
                rejectLate(socket)
                return
            }
            session = makeSession(beginning, isSocket: true)
            attach(socket, to: session)
            handle(.began, session)
        }
        handle(.socketOpened, session)
    }

    private func rejectLate(_ socket: SocketID) {
        close(socket, code: isDraining ? 1001 : 1000, reason: "the session has ended or has another WebSocket")
    }

    private func attach(_ socket: SocketID, to session: SocketIOSession) {
        session.socket = socket
        socketIO.bySocket[socket] = session
    }

    /// Detaches a connection that ended; returns `false` if it belongs to no Socket.IO session.
    func closedSocketIO(_ socket: SocketID) -> Bool {
        guard let session = socketIO.bySocket.removeValue(forKey: socket) else { return false }
        session.socket = nil
        handle(.socketClosed, session)
        return true
    }
}
