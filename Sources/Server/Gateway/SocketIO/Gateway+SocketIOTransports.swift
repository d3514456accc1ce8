import CallCore
import CallPorts
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// Handles Engine.IO's requests and upgrades.
extension Gateway {
    // MARK: Polling

    func handshakeReceived(_ handshake: EngineHandshake, posted body: [UInt8]?, _ id: RequestID) {
        switch handshake {
        case .known(let sid):
            guard let session = socketIO.bySID[sid] else {
                refuse(id, .sessionUnknown)
                return
            }
            if session.isJoined { markAuthenticated(for: id) }
            hand(body, id, to: session)
        case .new(let beginning):
            if let refusal = socketIO.index.refusal(of: handshake, by: router, for: requests.origins[id]) {
                requests.origins[id] = nil
                respond(id, with: refusal)
                return
            }
            if beginning.principal != nil { markAuthenticated(for: id) }
            let session = makeSession(beginning, isSocket: false)
            feedSession(.began, session)
            hand(nil, id, to: session)
        }
    }

    private func hand(_ body: [UInt8]?, _ id: RequestID, to session: SocketIOSession) {
        socketIO.byRequest[id] = session
        if let body {
            feedSession(.posted(id.rawValue, body), session)
        } else {
            feedSession(.polled(id.rawValue), session)
        }
    }

    /// Responds to one of Engine.IO's requests.
    func respond(_ request: UInt64, _ body: [UInt8], type: String, status: Int = 200) {
        let id = RequestID(rawValue: request)
        socketIO.byRequest[id] = nil
        let headers = router.commonHeaders(for: requests.origins.removeValue(forKey: id), isSocketIO: true)
        respond(
            id,
            with: Response(status: status, contentType: type, headers: headers, body: body)
        )
    }

    func refuse(_ id: RequestID, _ refusal: EngineRefusal) {
        router.logRefusedSession(refusal)
        respond(id.rawValue, refusal.body, type: "application/json", status: refusal.status)
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
            feedSession(.began, session)
        }
        feedSession(.socketOpened, session)
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
        feedSession(.socketClosed, session)
        return true
    }
}
