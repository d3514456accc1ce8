import CallCore
import CallWire
import LibWebSockets
import SocketIO
import Switchboard

/// Handles Engine.IO's requests and upgrades.
extension Gateway {
    // MARK: Polling

    func take(_ knock: EngineKnock, posted body: [UInt8]?, _ exchange: ExchangeID) {
        switch knock {
        case .known(let sid):
            guard let engine = engines.bySID[sid] else {
                refuse(exchange, .sessionUnknown)
                return
            }
            if engine.isJoined { vouch(for: exchange) }
            hand(body, exchange, to: engine)
        case .new(let beginning):
            if let refusal = refusal(of: beginning, for: origins[exchange]) {
                origins[exchange] = nil
                respond(exchange, with: refusal)
                return
            }
            if beginning.who != nil { vouch(for: exchange) }
            let engine = makeEngine(beginning, isSocket: false)
            handle(.began, engine)
            hand(nil, exchange, to: engine)
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

    private func refusal(of beginning: EngineKnock.Beginning, for origin: String?) -> HTTPResponse? {
        let unjoined = beginning.who.map { engines.unjoined[$0.user] ?? 0 } ?? 0
        return door.refusal(whenDraining: isDraining, unjoined: unjoined, for: origin)
    }

    /// Answers one of Engine.IO's requests.
    func answer(_ request: UInt64, _ body: [UInt8], type: String, status: Int = 200) {
        let exchange = ExchangeID(rawValue: request)
        engines.byRequest[exchange] = nil
        let headers = Doorkeeper.commonHeaders(for: origins.removeValue(forKey: exchange))
        respond(
            exchange,
            with: HTTPResponse(status: status, contentType: type, headers: headers, body: body)
        )
    }

    func refuse(_ exchange: ExchangeID, _ refusal: EngineRefusal) {
        answer(exchange.rawValue, refusal.body, type: "application/json", status: refusal.status)
    }

    // MARK: WebSockets

    func admit(_ knock: EngineKnock, as connection: ConnectionID) -> UpgradeDecision {
        switch knock {
        case .known(let sid):
            guard let engine = engines.bySID[sid] else { return .refuse(door.response(to: .sessionUnknown, for: nil)) }
            guard engine.connection == nil else { return .refuse(door.response(to: .badRequest, for: nil)) }
            engines.admitted[connection] = .upgrade(engine)
        case .new(let beginning):
            if let refusal = refusal(of: beginning, for: nil) { return .refuse(refusal) }
            engines.admitted[connection] = .new(beginning)
        }
        return .accept(subprotocol: nil)
    }

    /// Attaches an open connection to its Socket.IO session.
    ///
    /// Returns `false` if it is for no such session.
    func openedSocketIO(_ connection: ConnectionID) -> Bool {
        guard let admitted = engines.admitted.removeValue(forKey: connection) else { return false }
        let engine: Engine
        switch admitted {
        case .upgrade(let polling):
            guard polling.session.standing != .over, polling.connection == nil else {
                close(connection, code: 1000, reason: "its session is over, or has another WebSocket")
                return true
            }
            engine = polling
            attach(connection, to: engine)
        case .new(let beginning):
            engine = makeEngine(beginning, isSocket: true)
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
