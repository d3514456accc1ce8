import CallClient
import CallCore
import Foundation

/// The connection to the server.
extension Ringline {
    func connect(isUrgent: Bool) { reconnect(.wanted(isUrgent: isUrgent)) }

    func reconnect(_ input: Reconnection.Input) {
        for output in reconnection.handle(input, at: ports.clock.now, chance: ports.clock.chance) {
            switch output {
            case .open(let number): open(number)
            case .giveUp(let number):
                guard socket?.number == number else { break }
                socket?.socket.close()
                socket = nil
            case .connectionOpened:
                liveness.received(at: ports.clock.now)
                connectionChanged(true)
            case .connectionClosed:
                liveness.stop()
                connectionChanged(false)
            }
        }
        settle()
    }

    private func open(_ number: ConnectionNumber) {
        tokens.use { [weak self] token in
            // Getting a token may take long, and the attempt may have been given up by now.
            guard let self, reconnection.current == number else { return }
            guard let token else { return reconnect(.closed(number)) }
            let request = SocketRequest(url: webSocketURL, authorization: "Bearer \(token)")
            let opened = ports.socket.open(request) { [weak self] event in self?.handle(event, of: number) }
            // The socket may have failed at once.
            if reconnection.current == number { socket = (number, opened) } else { opened.close() }
        }
    }

    private func handle(_ event: SocketEvent, of number: ConnectionNumber) {
        guard reconnection.current == number else { return }
        switch event {
        case .text(let text):
            if isConnected { liveness.received(at: ports.clock.now) }
            received([UInt8](text.utf8), of: number)
        case .pong: if isConnected { liveness.received(at: ports.clock.now) }
        case .closed(let closure):
            socket = nil
            log("the socket was closed: \(closure.summary)")
            if closure.isReplaced { return replaced() }
            if closure.isUnauthenticated { tokenRefused() }
            reconnect(.closed(number, reconnectAfter: Reconnection.pause(inCloseReason: closure.reason)))
        }
        settle()
    }

    /// Stays without a connection until the user acts.
    private func replaced() {
        isReplaced = true
        reconnect(.unwanted)
        emit(.connectionReplaced)
    }

    private func received(_ frame: [UInt8], of number: ConnectionNumber) {
        let message = ServerMessage(frame)
        switch message {
        case .welcome:
            take(.received(message))
            // The core may have refused the connection, because its token is another user's.
            guard reconnection.current == number else { return }
            use(frame)
            reconnect(.opened(number))
            startDelayed()
        case .draining(let pause):
            reconnect(.draining(pause))
            take(.received(message))
        default: take(.received(message))
        }
    }

    /// Closes a connection whose token is another user's; the app is asked for a token again.
    func tokenIsOf(_ other: UserID) {
        guard let (number, socket) = socket else { return }
        emit(
            .tokenMissing("it is the token of user \(other.text), and this kit is for user \(configuration.user.text)")
        )
        socket.close()
        self.socket = nil
        reconnect(.closed(number))
    }

    /// Hands the STUN and TURN servers that a `welcome`, a fetched call or a response with TURN credentials names to the
    /// engine; returns whether there are any.
    @discardableResult
    func use(_ json: [UInt8]) -> Bool {
        /// Only TURN credentials that were asked for say how many seconds they are valid.
        struct Holder: Decodable {
            var iceServers: [ICEServer]?
            var ttl: Int64?
        }
        // Servers in a form that this version does not know are ignored.
        guard let holder = try? JSONDecoder().decode(Holder.self, from: Data(json)), let servers = holder.iceServers,
            !servers.isEmpty
        else { return false }
        let now = ports.clock.now
        let named = servers.expirySecond.map {
            Moment(milliseconds: 0) + .seconds($0) + (core.clockSkew ?? .seconds(0))
        }
        // Its own clock may be wrong, and then the lifetime says more than the moment.
        turnRenewal.received(validUntil: holder.ttl.map { now + .seconds($0) } ?? named, at: now)
        guard servers != iceServers else { return true }
        iceServers = servers
        ports.media.use(servers)
        return true
    }

    /// When to renew the TURN credentials; without a connection the next `welcome` brings them.
    var turnDeadline: Moment? { isConnected ? turnRenewal.deadline : nil }

    func checkLiveness(at now: Moment) {
        guard let (number, socket) = socket else { return liveness.stop() }
        if let pongBy = liveness.pongBy, now >= pongBy {
            socket.close()
            self.socket = nil
            reconnect(.closed(number))
        } else {
            liveness.pinged(at: now)
            socket.ping()
        }
    }

    private var webSocketURL: String {
        var address = base
        if address.hasPrefix("http") { address = "ws" + address.dropFirst("http".count) }
        return "\(address)/ws?device=\(Self.escaped(device.text))"
    }
}
