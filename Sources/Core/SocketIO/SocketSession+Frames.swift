import CallCore
import CallWire
import JSON

/// Converts the switchboard's frames into the app's events.
extension SocketSession {
    mutating func relay(_ frame: [UInt8]) {
        guard case .joined(let me) = phase,
            // The server wrote this frame itself, so a fault in it is not reported to the client.
            let object = try? JSONObject(frame, in: Frame.headroom..<frame.count), let type = object.text("type")
        else { return }
        let log = object.logIdentity
        if let log, let seq = object.number("seq").map({ UInt64($0) }) {
            unconfirmed[log] = max(unconfirmed[log] ?? 0, seq)
            outputs.append(.needsTurnEnd)
        }
        switch type {
        case "ack": acknowledge(object)
        case "error": sendError(object)
        case "offer", "answer", "ice":
            guard let log, let from = object.text("from").flatMap({ UserID($0) }) else { return }
            peers.live(log, with: from)
            relaySignal(type, object, from: from, me)
        case "call":
            guard let log, let peer = Self.peer(in: log.room, for: me.user) else { return }
            if object.text("state") == "ended" {
                sendCallEnded(of: log, with: peer, object, me)
            } else {
                peers.live(log, with: peer)
            }
        case "message": relayMessage(object, me)
        case "presence": relayPresence(object, me)
        default: break
        }
    }

    /// Returns the peer that a call's room names for a user.
    private static func peer(in room: String, for user: UserID) -> UserID? {
        // `Room` refuses a name that can be split into two user ids in two ways.
        guard case .pair(let peer)? = try? Room(room, for: user) else { return nil }
        return peer
    }

    // MARK: Acks and errors

    private mutating func takePendingEvent(_ object: JSONObject) -> PendingEvent? {
        guard let id = object.text("id"), var waiting = pending[id], !waiting.isEmpty else { return nil }
        let event = waiting.removeFirst()
        awaitedAcks -= 1
        if event.peer != nil {
            if event.event == "offer" { unacknowledgedOffers.remove(id) } else { unacknowledgedEnds.remove(id) }
        }
        pending[id] = waiting.isEmpty ? nil : waiting
        return event
    }

    private mutating func acknowledge(_ object: JSONObject) {
        guard let event = takePendingEvent(object), let number = event.number else { return }
        let members = object.copy(leavingOut: [.type, .id])
        send(
            SocketPacket.ack(number) { json in
                json.name("ok")
                json.value(true)
                json.rawMembers(members[...])
            }
        )
    }

    private mutating func sendError(_ object: JSONObject) {
        let event = takePendingEvent(object)
        let members = object.copy(leavingOut: [.type, .id])
        sendError(event: event?.event ?? "", event?.number) { $0.rawMembers(members[...]) }
    }

    // MARK: Calls

    /// Sends a signal as an event, with the sender's own members unchanged.
    ///
    /// The app expects every candidate to be an object, so the end-of-candidates signal is left out.
    private mutating func relaySignal(_ name: String, _ object: JSONObject, from: UserID, _ me: Identity) {
        if name == "ice", object[.candidate] == nil { return }
        let members = object.copy(leavingOut: [.type, .from, .id, .to])
        let body: (inout JSONWriter) -> Void = { json in
            json.name("from")
            json.id(from, asInteger: me.isInteger)
            json.rawMembers(members[...])
        }
        switch name {
        case "offer": send(SocketPacket.event("offer", body))
        case "answer": send(SocketPacket.event("answer", body))
        default: send(SocketPacket.event("ice", body))
        }
    }

    /// Notifies the app that a call is over for this device.
    ///
    /// The app takes `call-ended` as the end of any call that it has with that user. So the app does not get
    /// `call-ended` for a call that it has just ended itself: it may already have sent that user a new offer. When one
    /// call has given way to another, the app gets `call-replaced` instead.
    private mutating func sendCallEnded(of log: LogIdentity, with peer: UserID, _ object: JSONObject, _ me: Identity) {
        let reason = object.text("reason")
        let isReplaced = reason == "glare" || reason == "replaced" && unacknowledgedOffers.contains(peer)
        let isGoingOn = peers.ended(log, with: peer) || isReplaced
        if unacknowledgedEnds.removeFirst(to: peer), !isGoingOn { return }
        let members = object.copy(leavingOut: [.type, .room, .ts])
        let body: (inout JSONWriter) -> Void = { json in
            json.name("from")
            json.id(peer, asInteger: me.isInteger)
            json.rawMembers(members[...])
        }
        send(isGoingOn ? SocketPacket.event("call-replaced", body) : SocketPacket.event("call-ended", body))
    }

    // MARK: Besides calls

    private mutating func relayMessage(_ object: JSONObject, _ me: Identity) {
        guard let from = object.text("from").flatMap({ UserID($0) }) else { return }
        let at = Moment(milliseconds: object.number("ts") ?? 0)
        let members = object.copy(leavingOut: [.type, .from, .fromDevice, .id, .to, .ts])
        send(
            SocketPacket.event("message") { json in
                json.name("from")
                json.id(from, asInteger: me.isInteger)
                json.rawMembers(members[...])
                json.name("timestamp")
                json.timestamp(at)
            }
        )
    }

    private mutating func relayPresence(_ object: JSONObject, _ me: Identity) {
        guard let user = object.text("userId").flatMap({ UserID($0) }) else { return }
        let isOnline = object.member(named: "online")?.kind == .true
        let body: (inout JSONWriter) -> Void = { json in
            json.name("userId")
            json.id(user, asInteger: me.isInteger)
        }
        send(isOnline ? SocketPacket.event("user-online", body) : SocketPacket.event("user-offline", body))
    }
}

extension JSONObject {
    /// The log that a frame belongs to.
    fileprivate var logIdentity: LogIdentity? {
        guard let callID = text("callId").flatMap({ CallID($0) }), let room = text("room"),
            let epoch = number("epoch").flatMap({ UInt32(exactly: $0) })
        else { return nil }
        return LogIdentity(callID: callID, room: room, epoch: epoch)
    }
}
