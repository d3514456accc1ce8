import CallCore
import CallWire
import JSON

/// Handles the packets of Engine.IO and Socket.IO, and admits clients.
extension SocketSession {
    mutating func sessionBegan(at now: Moment) {
        send(openPacket())
        // In version 3 the client does not ask to enter the default namespace: the server sends CONNECT by itself.
        guard version == .v3 else { return }
        switch credential {
        case .valid(let identity): enter(identity, isSelfNamed: false)
        case .none where trustsUnverifiedSocketIOUsers: enterUnauthenticated()
        case .none: refuseConnect(Self.tokenNeeded)
        case .refused(let error): refuseConnect(error)
        }
    }

    static let tokenNeeded = WireError(
        .unauthenticated,
        "token missing: send auth.token, Authorization: Bearer or ?token="
    )

    mutating func packetReceived(_ packet: EnginePacket, at now: Moment) {
        switch packet.kind {
        case .message: takeMessage(packet.data)
        case .ping: if version == .v3 { send(EnginePacket(.pong, packet.data).text) }
        case .pong: if version == .v4 { ponged() }
        case .close: end()
        case .open, .upgrade, .noop: break
        }
    }

    private mutating func takeMessage(_ data: [UInt8]) {
        let packet: SocketPacket
        do throws(EngineFault) { packet = try SocketPacket(data) } catch {
            countRefused(.syntax)
            end(code: 4400, "not a Socket.IO packet")
            return
        }
        guard packet.namespace == "/" else {
            refuseNamespace(packet)
            return
        }
        switch packet.kind {
        case .connect: connect(packet.data)
        case .disconnect: end()
        case .event: event(packet)
        case .ack, .connectError: outputs.append(.signOfLife)
        case .binaryEvent, .binaryAck: refuseBinary(packet)
        }
    }

    // MARK: Entry

    private mutating func connect(_ data: [UInt8]) {
        guard version == .v4, phase == .awaitingConnect else { return }
        do throws(WireError) {
            if let token = try token(in: data) {
                outputs.append(.verify(token: token))
                return
            }
        } catch {
            refuseConnect(error)
            return
        }
        switch credential {
        case .valid(let identity): enter(identity, isSelfNamed: false)
        case .refused(let error): refuseConnect(error)
        case .none where trustsUnverifiedSocketIOUsers: enterUnauthenticated()
        case .none: refuseConnect(Self.tokenNeeded)
        }
    }

    /// Returns the token in CONNECT's `auth`, and stores the device that `auth` names.
    private mutating func token(in data: [UInt8]) throws(WireError) -> String? {
        if data.isEmpty { return nil }
        let object = try JSONObject.ofBody(data)
        device = try object.device(.deviceId)
        guard let token = try object.text(.token), !token.isEmpty else { return nil }
        return token.hasPrefix("Bearer ") ? String(token.dropFirst(7)) : token
    }

    mutating func verified(_ result: Result<Identity, WireError>) {
        guard phase == .awaitingConnect else { return }
        switch result {
        case .success(let identity): enter(identity, isSelfNamed: false)
        case .failure(let error): refuseConnect(error)
        }
    }

    private mutating func enter(_ identity: Identity, isSelfNamed: Bool) {
        welcome()
        join(identity, isSelfNamed: isSelfNamed)
    }

    private mutating func enterUnauthenticated() {
        welcome()
        phase = .awaitingRegister
    }

    private mutating func welcome() {
        var data: [UInt8] = []
        if version == .v4 {
            var json = JSONWriter()
            json.beginObject()
            json.name("sid")
            json.plain(socketID)
            json.endObject()
            data = json.bytes
        }
        send(SocketPacket(.connect, data: data))
    }

    private mutating func join(_ identity: Identity, isSelfNamed: Bool) {
        phase = .joined(identity)
        outputs.append(.join(identity, device: device, isSelfNamed: isSelfNamed))
    }

    /// Counts a refused packet.
    ///
    /// A client that has not joined is disconnected after a few of them.
    mutating func countRefused(_ reason: PacketRefusal) {
        outputs.append(.refusedPacket(reason))
        if case .joined = phase { return }
        unauthenticatedPackets += 1
        if unauthenticatedPackets >= SocketIOLimits.unauthenticatedPackets { end(code: 4401, "not authenticated") }
    }

    /// Refuses a CONNECT.
    ///
    /// A version 4 client may try again with another token; a version 3 client cannot.
    private mutating func refuseConnect(_ error: WireError) {
        var json = JSONWriter()
        switch version {
        case .v4:
            json.beginObject()
            json.name("message")
            json.value(error.message)
            json.name("data")
            json.beginObject()
            json.name("code")
            json.plain(error.code.rawValue)
            json.endObject()
            json.endObject()
            send(SocketPacket(.connectError, data: json.bytes))
            countRefused(.token)
        case .v3:
            json.value("\(error.code.rawValue): \(error.message)")
            send(SocketPacket(.connectError, data: json.bytes))
            pendingEnd = PendingEnd(code: 4401, reason: "token refused")
            outputs.append(.needsTurnEnd)
        }
    }

    /// Refuses a packet of another namespace.
    ///
    /// The refusal does not contain the namespace's name: otherwise a client could make the server queue as much as the
    /// client sends. A client that has joined gets the refusal as an event: without a name, a CONNECT_ERROR would be
    /// for the default namespace, and would end the client's connection to that namespace.
    private mutating func refuseNamespace(_ packet: SocketPacket) {
        defer { countRefused(.namespace) }
        let isAnswered = packet.kind == .connect || packet.kind == .event || packet.kind == .binaryEvent
        if case .joined = phase {
            if isAnswered { refuse(WireError(.notFound, "only the default namespace exists"), event: "", nil) }
            return
        }
        guard packet.kind == .connect else { return }
        var json = JSONWriter()
        if version == .v4 {
            json.beginObject()
            json.name("message")
            json.value("Invalid namespace")
            json.endObject()
        } else {
            json.value("Invalid namespace")
        }
        send(SocketPacket(.connectError, data: json.bytes))
    }

    // MARK: Register

    /// Handles `register`, by which the app names its user on every connect.
    mutating func register(_ payload: JSONArray.Element?, _ array: JSONArray, _ number: UInt64?) {
        let named: (user: UserID, isInteger: Bool)
        do throws(WireError) { named = try Self.user(in: payload, array) } catch {
            refuse(error, event: "register", number)
            return
        }
        switch phase {
        case .awaitingRegister: join(Identity(user: named.user, isInteger: named.isInteger), isSelfNamed: true)
        case .joined(let identity) where identity.user == named.user: outputs.append(.signOfLife)
        case .joined:
            refuse(
                WireError(.forbidden, "userId: must be the token's user", field: "userId"),
                event: "register",
                number
            )
            disconnect(4403, "registered as another user")
            return
        case .awaitingConnect, .over: return
        }
        guard let number else { return }
        send(
            SocketPacket.ack(number) { json in
                json.name("ok")
                json.value(true)
                json.name("userId")
                json.id(named.user, asInteger: named.isInteger)
            }
        )
    }

    private static func user(
        in payload: JSONArray.Element?,
        _ array: JSONArray
    ) throws(WireError) -> (user: UserID, isInteger: Bool) {
        guard let payload, payload.kind == .object else { throw .invalid(.userId, "missing") }
        let object = try JSONObject.ofBody(array.bytes, in: payload.value)
        guard let user = try object.user(.userId) else { throw .invalid(.userId, "missing") }
        return (user, object[.userId]?.kind == .number)
    }
}
