import CallCore
import CallWire
import JSON

/// Engine.IO's transports: polling requests, WebSockets, and the upgrade from polling to a WebSocket.
extension SocketSession {
    func openPacket() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("sid")
        json.plain(sid)
        json.name("upgrades")
        json.beginArray()
        if transport != .socket { json.plain("websocket") }
        json.endArray()
        json.name("pingInterval")
        json.value(SocketIOLimits.pingIntervalMilliseconds)
        json.name("pingTimeout")
        json.value(SocketIOLimits.pingTimeoutMilliseconds)
        json.name("maxPayload")
        json.value(WireLimits.frameBytes)
        json.endObject()
        return EnginePacket(.open, json.bytes).text
    }

    // MARK: Out

    /// Sends an Engine.IO packet by the current transport.
    mutating func send(_ text: [UInt8]) {
        guard maySend(text.count) else { return }
        if transport == .socket {
            outputs.append(.send(Frame(text).bytes))
        } else {
            enqueue(text)
        }
    }

    /// Sends a Socket.IO packet by the current transport.
    mutating func send(_ packet: SocketPacket) {
        let headroom = transport == .socket ? Frame.headroom : 0
        let text = packet.text(headroom: headroom)
        guard maySend(text.count - headroom) else { return }
        if transport == .socket { outputs.append(.send(text)) } else { enqueue(text) }
    }

    /// Returns whether these bytes may be sent; ends the session if its client has not joined and the bytes exceed
    /// ``SocketIOLimits/bytesBeforeJoining``.
    ///
    /// A client that has not joined might never read, and there may be many such clients.
    private mutating func maySend(_ bytes: Int) -> Bool {
        if case .joined = phase { return true }
        bytesBeforeJoining += bytes
        guard bytesBeforeJoining > SocketIOLimits.bytesBeforeJoining else { return phase != .over }
        end(code: 4401, "not authenticated")
        return false
    }

    private mutating func enqueue(_ text: [UInt8]) {
        guard queuedBytes + text.count <= SocketIOLimits.queueBytes else {
            end(code: 4408, "too slow")
            return
        }
        queue.append(text)
        queuedBytes += text.count
        queuedPackets += 1
        outputs.append(.needsTurnEnd)
    }

    /// Handles the end of a turn: responds to the waiting poll with the queued packets.
    mutating func turnEnded(at now: Moment) {
        if !unconfirmed.isEmpty, pings.isEmpty { ping(requestNumber: nil, at: now) }
        if case .polling(let request?) = transport, !queue.isEmpty { respondToPoll(request) }
        if let pendingEnd, queue.isEmpty { end(code: pendingEnd.code, pendingEnd.reason) }
    }

    private mutating func respondToPoll(_ request: UInt64) {
        transport = .polling(waiting: nil)
        let packets = Array(queue.prefix(SocketIOLimits.packetsInAPayload))
        outputs.append(.respond(request, EnginePayload.encoded(packets, version)))
        queue.removeFirst(packets.count)
        queuedBytes -= packets.reduce(0) { $0 + $1.count }
        for index in pings.indices {
            pings[index].awaitsResponse = false
            if pings[index].confirmation == .nextPoll, pings[index].packetsBefore <= sentPackets {
                pings[index].isSent = true
            }
        }
    }

    // MARK: Requests

    mutating func polled(_ request: UInt64, at now: Moment) {
        heardAt = now
        switch transport {
        case .socket: outputs.append(.refuse(request, .badRequest))
        case .polling(let other?):
            // Engine.IO's own server ends the session too: a client must not have two polls at a time.
            transport = .polling(waiting: nil)
            outputs.append(.refuse(request, .badRequest))
            outputs.append(.refuse(other, .badRequest))
            end()
        case .polling(nil):
            pollArrived()
            transport = .polling(waiting: request)
            if queue.isEmpty, case .probed = upgradingSocket { enqueue(EnginePacket(.noop).text) }
            if !queue.isEmpty { respondToPoll(request) }
            if let pendingEnd, queue.isEmpty { end(code: pendingEnd.code, pendingEnd.reason) }
        }
    }

    /// Confirms the pings in the last response: the client polls again only after it has received that response.
    private mutating func pollArrived() {
        let arrived = pings.filter { $0.confirmation == .nextPoll && $0.isSent }
        pings.removeAll { $0.confirmation == .nextPoll && $0.isSent }
        showLife()
        for ping in arrived { confirm(ping) }
    }

    /// Reports a request as a sign of life, unless it was on its way when the switchboard probed the client: such a
    /// request says nothing of a client that was suspended since.
    private mutating func showLife() {
        if pings.contains(where: \.awaitsResponse) { return }
        outputs.append(.signOfLife)
    }

    mutating func posted(_ body: [UInt8], by request: UInt64, at now: Moment) {
        heardAt = now
        guard transport != .socket else {
            outputs.append(.refuse(request, .badRequest))
            return
        }
        let packets: [EnginePacket]
        do throws(EngineFault) { packets = try EnginePayload.packets(in: body, version) } catch {
            countRefused(error == .binary ? .binary : .syntax)
            outputs.append(.refuse(request, .badRequest))
            end()
            return
        }
        outputs.append(.accept(request))
        showLife()
        for packet in packets where phase != .over { packetReceived(packet, at: now) }
    }

    // MARK: WebSockets

    mutating func socketOpened(at now: Moment) {
        heardAt = now
        if transport == .socket { return }
        upgradingSocket = .opened(at: now)
    }

    mutating func socketReceived(_ text: [UInt8], at now: Moment) {
        heardAt = now
        let packet: EnginePacket
        do throws(EngineFault) { packet = try EnginePacket(text: text) } catch {
            countRefused(error == .binary ? .binary : .syntax)
            if transport == .socket {
                end(code: 4400, error == .binary ? "binary packets are not supported" : "not an Engine.IO packet")
            } else {
                dropUpgradingSocket()
            }
            return
        }
        guard transport == .socket else {
            handleUpgradePacket(packet, at: now)
            return
        }
        if packet.kind != .message, packet.kind != .pong { outputs.append(.signOfLife) }
        packetReceived(packet, at: now)
    }

    /// Handles a packet on a WebSocket that is an upgrade of polling: first the ping `probe`, then the upgrade packet.
    private mutating func handleUpgradePacket(_ packet: EnginePacket, at now: Moment) {
        switch (upgradingSocket, packet.kind) {
        case (.opened, .ping) where packet.data.elementsEqual("probe".utf8):
            upgradingSocket = .probed(since: now)
            let pong = EnginePacket(.pong, packet.data).text
            outputs.append(.send(Frame(pong).bytes))
            // The client stops polling, and waits for the response to its last poll.
            if case .polling(let request?) = transport {
                if queue.isEmpty { enqueue(EnginePacket(.noop).text) }
                respondToPoll(request)
            }
        case (.probed, .upgrade): upgrade(at: now)
        default: dropUpgradingSocket()
        }
    }

    private mutating func upgrade(at now: Moment) {
        upgradingSocket = .none
        if case .polling(let request?) = transport {
            outputs.append(.respond(request, EnginePayload.encoded([EnginePacket(.noop).text], version)))
        }
        pollArrived()
        let waiting = queue
        transport = .socket
        queue = []
        queuedBytes = 0
        let rest = pings.filter { $0.confirmation == .nextPoll }
        pings.removeAll { $0.confirmation == .nextPoll }
        for text in waiting where text != EnginePacket(.noop).text { send(text) }
        for ping in rest { unconfirmed.merge(ping.seen) { max($0, $1) } }
        if let requestNumber = rest.compactMap(\.requestNumber).max() { ping(requestNumber: requestNumber, at: now) }
        outputs.append(.needsTurnEnd)
    }

    private mutating func dropUpgradingSocket() {
        upgradingSocket = .none
        outputs.append(.closeSocket(code: 1000, reason: "the upgrade failed"))
    }

    mutating func socketClosed() {
        if transport == .socket { end() } else { upgradingSocket = .none }
    }

    // MARK: Life

    /// Sends a ping, or lets the client's next poll take its place.
    ///
    /// On a WebSocket the ping is an Engine.IO ping in version 4, and a WebSocket ping frame in version 3, whose
    /// servers may not send Engine.IO pings. A client that polls gets an Engine.IO ping only in version 4, and only if
    /// the switchboard asked for the ping. In all other cases a client that polls gets no ping, and the client's next
    /// poll confirms the packets before that poll. If the switchboard asked and nothing is queued, a `noop` makes the
    /// client poll again.
    ///
    /// `requestNumber`: The switchboard's number for the ping; `nil` if the session pings of its own accord.
    mutating func ping(requestNumber: UInt64?, at now: Moment) {
        lastPing += 1
        let isPong: Bool
        switch (transport, version) {
        case (.socket, .v4):
            isPong = true
            send(EnginePacket(.ping).text)
        case (.polling, .v4) where requestNumber != nil:
            isPong = true
            send(EnginePacket(.ping).text)
        case (.socket, .v3):
            isPong = true
            outputs.append(.pingSocket(lastPing))
        case (.polling, _):
            isPong = false
            if requestNumber != nil, queue.isEmpty { send(EnginePacket(.noop).text) }
        }
        let confirmation = isPong ? Ping.Confirmation.pong : .nextPoll
        pings.append(
            Ping(
                number: lastPing,
                requestNumber: requestNumber,
                confirmation: confirmation,
                sentAt: now,
                seen: unconfirmed,
                packetsBefore: queuedPackets,
                awaitsResponse: requestNumber != nil && transport != .socket
            )
        )
        unconfirmed = [:]
    }

    /// Handles a WebSocket pong frame, which answers its ping and all earlier ones.
    mutating func socketPonged(_ number: UInt64?) {
        guard let number, pings.contains(where: { $0.confirmation == .pong && $0.number <= number }) else {
            outputs.append(.signOfLife)
            return
        }
        let confirmed = pings.filter { $0.confirmation == .pong && $0.number <= number }
        pings.removeAll { $0.confirmation == .pong && $0.number <= number }
        for ping in confirmed { confirm(ping) }
    }

    /// Handles an Engine.IO pong, which answers the oldest ping: Engine.IO's pings have no numbers.
    mutating func ponged() {
        guard let index = pings.firstIndex(where: { $0.confirmation == .pong }) else {
            outputs.append(.signOfLife)
            return
        }
        confirm(pings.remove(at: index))
    }

    private mutating func confirm(_ ping: Ping) {
        outputs.append(ping.requestNumber.map { .ponged($0) } ?? .signOfLife)
        if !ping.seen.isEmpty { outputs.append(.seen(ping.seen)) }
        if !unconfirmed.isEmpty { outputs.append(.needsTurnEnd) }
    }

    // MARK: The end

    /// Ends the session.
    ///
    /// A client that polls gets "session unknown" as the response to its waiting poll or its next one, and so connects
    /// again.
    mutating func end(code: UInt16 = 1000, _ reason: String = "") {
        guard phase != .over else { return }
        phase = .over
        wasTooSlow = code == 4408
        if case .polling(let request?) = transport { outputs.append(.refuse(request, .sessionUnknown)) }
        if transport == .socket || upgradingSocket != .none { outputs.append(.closeSocket(code: code, reason: reason)) }
        queue = []
        outputs.append(.over)
    }

    /// Ends the session because the switchboard or the gateway closes it.
    ///
    /// A client that is sent a DISCONNECT stays away until its user does something. A client that only loses its
    /// transport reconnects by itself. Reconnecting is wanted when the server restarts. It is not wanted when another
    /// session replaces this one, or when the client violated the protocol or a limit.
    mutating func closeForServer(_ code: UInt16, _ reason: String) {
        if [4400, 4403, 4409, 4429].contains(code) { disconnect(code, reason) } else { end(code: code, reason) }
    }

    /// Sends DISCONNECT after all that is queued, and then ends the session.
    mutating func disconnect(_ code: UInt16, _ reason: String) {
        send(SocketPacket(.disconnect))
        pendingEnd = PendingEnd(code: code, reason: reason)
        outputs.append(.needsTurnEnd)
    }
}
