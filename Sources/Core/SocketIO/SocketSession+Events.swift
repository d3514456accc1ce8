import CallCore
import CallWire
import JSON

/// Converts the app's events into the frames that a client of `/ws` would have sent.
extension SocketSession {
    mutating func event(_ packet: SocketPacket) {
        // The switchboard refuses an event that is not an array starting with a name, like any other malformed frame.
        guard let array = try? JSONArray(packet.data, in: 0..<packet.data.count), let first = array.elements.first,
            let name = array.string(first)
        else {
            passToSwitchboard(packet.data)
            return
        }
        let payload = array.elements.dropFirst().first
        switch name {
        case "register": register(payload, array, packet.number)
        case "offer", "answer", "ice", "message": send(name, as: name, payload, array, packet.number)
        case "call-end": send(name, as: "end", payload, array, packet.number)
        case "is-online": send(name, as: "presence", payload, array, packet.number)
        default: send("", as: "event", payload, array, packet.number)
        }
    }

    /// Passes a frame to the switchboard.
    ///
    /// Refuses the packet if the client has not joined.
    private mutating func passToSwitchboard(_ frame: [UInt8]) {
        guard case .joined = phase else {
            countRefused(.notJoined)
            return
        }
        outputs.append(.received(frame))
    }

    private mutating func send(
        _ event: String,
        as type: String,
        _ payload: JSONArray.Element?,
        _ array: JSONArray,
        _ number: UInt64?
    ) {
        guard case .joined(let me) = phase else {
            refuse(WireError(.unauthenticated, "send register first"), event: event, number)
            passToSwitchboard([])
            return
        }
        guard awaitedAcks < SocketIOLimits.awaitedAcks else {
            refuse(WireError(.rateLimited, "too many events await their acks"), event: event, number)
            outputs.append(.signOfLife)
            return
        }
        let object: JSONObject?
        do throws(JSONFault) {
            object =
                try payload.map { payload throws(JSONFault) in
                    payload.kind == .object ? try JSONObject(array.bytes, in: payload.value) : nil
                } ?? nil
        } catch {
            // The switchboard finds the same fault in the raw bytes, and counts it.
            passToSwitchboard(payload.map { Array(array.bytes[$0.value]) } ?? [])
            return
        }
        // If `to` is not a valid user id, the switchboard refuses the frame.
        let peer = object.flatMap { try? $0.user(.to) }
        let id = name(of: object)
        var json = JSONWriter(capacity: array.bytes.count + 128)
        json.beginObject()
        json.name("type")
        json.plain(type)
        json.name("id")
        json.value(id)
        var left: FieldSet = [.type, .id]
        if type == "offer", object?[.callId] == nil, let peer, let callID = Self.callID(from: me.user, to: peer) {
            json.name("callId")
            json.plain(callID)
            left.insert(.callId)
        }
        if let object { json.rawMembers(object.copy(leavingOut: left)[...]) }
        json.endObject()
        let hasPeer = type == "offer" || type == "end"
        pending[id, default: []].append(PendingEvent(event: event, number: number, peer: hasPeer ? peer : nil))
        awaitedAcks += 1
        if let peer, type == "offer" { unacknowledgedOffers.append(id, to: peer) }
        if let peer, type == "end" { unacknowledgedEnds.append(id, to: peer) }
        passToSwitchboard(json.bytes)
    }

    /// Returns the signal's id: the client's own if it is valid, so that a resend is recognised; otherwise a new one.
    private mutating func name(of object: JSONObject?) -> String {
        if let member = object?[.id], let own = object?.string(member), SignalID(own) != nil { return own }
        lastSignal += 1
        return "\(tag)-\(lastSignal)"
    }

    /// Returns the callId of a call that begins without one: `<caller>-<callee>`.
    ///
    /// The app uses the same callId over REST. Characters that a user id allows and a callId does not are written as
    /// `.`. Two pairs of users may thus share a callId, which is harmless because a call is also identified by its two
    /// users.
    static func callID(from caller: UserID, to callee: UserID) -> String? {
        let text = String("\(caller.text)-\(callee.text)".map { "@+".contains($0) ? "." : $0 })
        return CallID(text)?.text
    }

    mutating func refuseBinary(_ packet: SocketPacket) {
        refuse(WireError(.unsupportedMediaType, "binary packets are not supported"), event: "", packet.number)
        countRefused(.binary)
        outputs.append(.signOfLife)
    }

    /// Reports why an event is refused: in the event's ack if the client wants an ack, otherwise by the event
    /// `signal-error`.
    mutating func refuse(_ error: WireError, event: String, _ number: UInt64?) {
        sendError(event: event, number) { json in json.write(error) }
    }

    mutating func sendError(event: String, _ number: UInt64?, _ body: (inout JSONWriter) -> Void) {
        if let number {
            send(
                SocketPacket.ack(number) { json in
                    json.name("ok")
                    json.value(false)
                    body(&json)
                }
            )
        } else {
            send(
                SocketPacket.event("signal-error") { json in
                    if !event.isEmpty {
                        json.name("event")
                        json.value(event)
                    }
                    body(&json)
                }
            )
        }
    }
}
