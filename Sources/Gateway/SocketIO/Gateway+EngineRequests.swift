import CallCore
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// Engine.IO's requests and upgrades.
extension Gateway {
    // MARK: Polling

    func requestedSocketIO(_ head: RequestHead, body: [UInt8], exchange: ExchangeID) {
        if let origin = head.origin { origins[exchange] = origin }
        do throws(EngineRefusal) {
            let version = try version(of: head, transport: "polling")
            // Answers as scripts are for browsers of another time.
            guard head.parameter("j") == nil, head.method == "GET" || head.method == "POST" else {
                throw .badRequest
            }
            if let sid = head.parameter("sid") {
                guard let engine = engines.bySID[sid] else { throw .sessionUnknown }
                hand(head.method == "GET" ? nil : body, exchange, to: engine)
            } else {
                guard head.method == "GET" else { throw .badHandshakeMethod }
                guard let (credential, who, device) = credential(head) else { throw .badRequest }
                guard mayBegin(credential) else {
                    server?.respond(exchange, with: unavailable(for: origins.removeValue(forKey: exchange)))
                    return
                }
                let engine = makeEngine(version, isSocket: false, credential, who, device)
                handle(.began, engine)
                hand(nil, exchange, to: engine)
            }
        } catch {
            refuse(exchange, error)
        }
    }

    private func hand(_ body: [UInt8]?, _ exchange: ExchangeID, to engine: Engine) {
        engines.byRequest[exchange] = engine
        if let body {
            handle(.posted(exchange.rawValue, body), engine)
        } else {
            handle(.polled(exchange.rawValue), engine)
        }
    }

    private func version(of head: RequestHead, transport: String) throws(EngineRefusal) -> EngineVersion {
        guard let version = EngineVersion(parameter: head.parameter("EIO")) else { throw .unsupportedVersion }
        switch head.parameter("transport") {
        case transport: return version
        case "polling", "websocket": throw .badRequest
        default: throw .transportUnknown
        }
    }

    /// Whether one session more is too many: of clients that have not said who they are there may be some only.
    private func mayBegin(_ credential: SocketSession.Credential) -> Bool {
        if isDraining { return false }
        if case .valid = credential { return true }
        return engines.strangers < SocketIOLimits.strangers
    }

    private func unavailable(for origin: String?) -> HTTPResponse {
        response(to: WireError(isDraining ? .draining : .rateLimited, "no further sessions just now"), for: origin)
    }

    /// Answers one of Engine.IO's requests.
    func answer(_ request: UInt64, _ body: [UInt8], type: String, status: Int = 200) {
        let exchange = ExchangeID(rawValue: request)
        engines.byRequest[exchange] = nil
        let headers = commonHeaders(for: origins.removeValue(forKey: exchange))
        server?.respond(
            exchange,
            with: HTTPResponse(status: status, contentType: type, headers: headers, body: body)
        )
    }

    func refuse(_ exchange: ExchangeID, _ refusal: EngineRefusal) {
        answer(exchange.rawValue, refusal.body, type: "application/json", status: refusal.status)
    }

    // MARK: WebSockets

    func admitSocketIO(_ upgrade: RequestHead, as connection: ConnectionID) -> UpgradeDecision {
        do throws(EngineRefusal) {
            let version = try version(of: upgrade, transport: "websocket")
            if let sid = upgrade.parameter("sid") {
                guard let engine = engines.bySID[sid] else { throw .sessionUnknown }
                guard engine.connection == nil else { throw .badRequest }
                engines.admitted[connection] = .upgrade(engine)
            } else {
                guard let (credential, who, device) = credential(upgrade) else { throw .badRequest }
                guard mayBegin(credential) else { return .refuse(unavailable(for: nil)) }
                engines.admitted[connection] = .new(version, credential, who, device)
            }
            return .accept(subprotocol: nil)
        } catch {
            return .refuse(
                HTTPResponse(status: error.status, contentType: "application/json", body: error.body)
            )
        }
    }

    /// Whether a connection that has opened is a Socket.IO session's.
    func openedSocketIO(_ connection: ConnectionID) -> Bool {
        guard let admitted = engines.admitted.removeValue(forKey: connection) else { return false }
        let engine: Engine
        switch admitted {
        case .upgrade(let polling):
            guard polling.session.standing != .over, polling.connection == nil else {
                server?.close(connection, code: 1000, reason: "its session is over, or has another WebSocket")
                return true
            }
            engine = polling
            attach(connection, to: engine)
        case .new(let version, let credential, let who, let device):
            engine = makeEngine(version, isSocket: true, credential, who, device)
            attach(connection, to: engine)
            handle(.began, engine)
        }
        handle(.socketOpened, engine)
        return true
    }

    private func attach(_ connection: ConnectionID, to engine: Engine) {
        engine.connection = connection
        engines.byConnection[connection] = engine
    }

    func closedSocketIO(_ connection: ConnectionID) -> Bool {
        engines.admitted[connection] = nil
        guard let engine = engines.byConnection.removeValue(forKey: connection) else { return false }
        engine.connection = nil
        handle(.socketClosed, engine)
        return true
    }
}
