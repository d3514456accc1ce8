import CallCore
public import LibWebSockets
import SocketIO
import Switchboard
import Threads

/// The connections of further loops: their events arrive here, and orders for them are sent from here.
extension Gateway {
    /// Creates the loops besides this one, according to the configuration.
    func listen(beside server: Server) throws(ServerError) {
        guard configuration.server.loops > 1 else { return }
        let board = EngineBoard()
        engines.board = board
        for loop in 1..<configuration.server.loops {
            let further = FurtherLoop(door: door, board: board) { [weak self] news, loop, taken in
                self?.post { gateway in
                    gateway.take(news, from: loop)
                    taken()
                }
            }
            try further.listen(beside: server, loop: loop)
            links.append(LoopLink(further))
        }
    }

    /// Starts the further loops.
    func startLoops() throws(ServerError) {
        for link in links {
            link.thread = link.loop.start()
            guard link.thread != nil else {
                endLoops()
                throw .library("the system gives no thread for a loop")
            }
        }
    }

    /// Stops the further loops, and waits until they have ended.
    func endLoops() {
        for link in links { link.loop.stop() }
        for link in links {
            link.thread?.join()
            link.thread = nil
        }
    }

    /// Handles the events of a further loop.
    private func take(_ news: [LoopNews], from loop: Int) {
        for new in news {
            switch new {
            case .opened(let connection, let admission):
                feed(.opened(SessionID(rawValue: connection.rawValue), admission.who, device: admission.device))
            case .openedEngine(let connection, let knock): opened(connection, knock)
            case .received(let connection, let bytes):
                if let engine = engines.byConnection[connection] {
                    handle(.socketReceived(bytes), engine)
                } else {
                    feed(.received(SessionID(rawValue: connection.rawValue), bytes))
                }
            case .ponged(let connection, let number): ponged(number, on: connection)
            case .closed(let connection): closed(connection, code: nil)
            case .requested(let exchange, let request): take(request, exchange)
            case .abandoned(let exchange): abandoned(exchange)
            case .counted(let count): links[loop - 1].connections = count
            }
        }
    }

    /// Handles a WebSocket for a Socket.IO session, which the board accepted: its state may have changed since.
    private func opened(_ connection: ConnectionID, _ knock: EngineKnock) {
        switch admit(knock, as: connection) {
        case .accept: _ = openedSocketIO(connection)
        case .refuse, .acceptThenClose:
            close(connection, code: isDraining ? 1001 : 1000, reason: "its session is over, or has another WebSocket")
        }
    }

    // MARK: Out

    @inline(__always)
    func send(_ frame: [UInt8], to connection: ConnectionID, _ server: Server) -> SendOutcome {
        if connection.loop == 0 { return server.send(frame, to: connection) }
        return links[connection.loop - 1].send(frame, to: connection)
    }

    func ping(_ connection: ConnectionID, _ number: UInt64) {
        if connection.loop == 0 {
            server?.ping(connection, payload: PingPayload.of(number))
        } else {
            links[connection.loop - 1].order(.ping(connection, number))
        }
    }

    func close(_ connection: ConnectionID, code: UInt16, reason: String, discardingQueue: Bool = false) {
        if connection.loop == 0 {
            server?.close(connection, code: code, reason: reason, discardingQueue: discardingQueue)
        } else {
            links[connection.loop - 1].order(
                .close(connection, code: code, reason: reason, discardingQueue: discardingQueue)
            )
        }
    }

    func respond(_ exchange: ExchangeID, with response: HTTPResponse) {
        if exchange.loop == 0 {
            server?.respond(exchange, with: response)
        } else {
            links[exchange.loop - 1].order(.respond(exchange, response), bytes: response.body.count)
        }
    }

    /// Records that the user of a request is known, so that its connection no longer counts as unidentified.
    func vouch(for exchange: ExchangeID) {
        if exchange.loop == 0 {
            server?.vouch(for: exchange)
        } else {
            links[exchange.loop - 1].order(.vouch(exchange))
        }
    }

    /// Passes the orders of this turn to the further loops.
    func flushLinks() {
        for link in links { link.flush() }
    }

    // MARK: Certificates

    /// Serves a renewed certificate to all connections that are made from now on, on every loop; from any thread.
    public func serve(_ certificate: ServerCertificate) {
        post { gateway in
            gateway.server?.serve(certificate)
            for link in gateway.links { link.order(.serve(certificate)) }
        }
    }

    /// Replaces the keys of TLS session tickets when they are due; from any thread, to be called from time to time.
    public func renewTickets() { server?.renewTickets(at: configuration.clock.now()) }

    // MARK: The end

    /// Whether there is no connection left on any loop.
    var isDeserted: Bool { server?.connectionCount == 0 && links.allSatisfy { $0.connections == 0 } }

    /// Makes the further loops accept no more connections, and report how many are left.
    func drainLinks() {
        engines.board?.drain()
        for link in links { link.order(.stopListening) }
        countLinks()
    }

    func countLinks() {
        for link in links where link.connections != 0 { link.order(.count) }
    }
}
