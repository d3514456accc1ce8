import CallCore
import CallWire
import JSON

extension ServerMessage {
    /// Reads a text frame; a frame that is malformed or concerns no call becomes ``other``.
    public init(_ frame: [UInt8]) {
        // A client cannot use the reason why a frame of the server is invalid; it ignores the frame.
        guard let object = try? JSONObject(frame) else {
            self = .other
            return
        }
        self = Self.read(object)
    }

    static func read(_ object: JSONObject) -> ServerMessage {
        guard let type = object.text("type") else { return .other }
        switch type {
        case "welcome": return .welcome(object.user("user"))
        case "ack":
            guard let id = object.text("id").flatMap({ SignalID($0) }) else { return .other }
            return .ack(id, Ack(object))
        case "draining":
            guard let pause = object.number("reconnectAfterMs"), pause >= 0 else { return .other }
            return .draining(.milliseconds(pause))
        case "error": return .error(object.text("id").flatMap { SignalID($0) }, code: object.text("code") ?? "")
        case "call":
            guard let envelope = Envelope(object), let state = object.text("state").flatMap({ CallState(rawValue: $0) })
            else { return .other }
            let answeredBy = object.member(named: "answeredBy").flatMap { object.inner($0) }
            return .call(
                envelope,
                StateEvent(
                    state,
                    reason: object.text("reason").flatMap { EndReason(rawValue: $0) },
                    answeredBy: answeredBy?.text("device").flatMap { DeviceID($0) },
                    replacedBy: object.text("replacedBy").flatMap { CallID($0) },
                    offerID: object.text("offerId").flatMap { SignalID($0) }
                )
            )
        default:
            guard let kind = SignalKind(rawValue: type), let envelope = Envelope(object),
                let content = Content(kind, object)
            else { return .other }
            return .signal(envelope, content)
        }
    }
}

extension ServerMessage.Envelope {
    init?(_ object: JSONObject) {
        guard let callID = object.text("callId").flatMap({ CallID($0) }),
            let epoch = object.number("epoch").flatMap({ UInt32(exactly: $0) }),
            let seq = object.number("seq").flatMap({ UInt64(exactly: $0) })
        else { return nil }
        self.init(
            callID: callID,
            epoch: epoch,
            seq: seq,
            at: object.number("ts").map { Moment(milliseconds: $0) },
            room: object.text("room"),
            from: object.user("from"),
            fromDevice: object.text("fromDevice").flatMap { DeviceID($0) },
            id: object.text("id").flatMap { SignalID($0) }
        )
    }
}

extension ServerMessage.Content {
    init?(_ kind: SignalKind, _ object: JSONObject) {
        let round = object.number("round").flatMap { UInt32(exactly: $0) }
        switch kind {
        case .offer:
            // Only an offer of the server itself has no description, and only the server writes `scheduled`.
            let sdp = object.text("sdp")
            let schedule = sdp == nil ? IncomingSchedule(offer: object) : nil
            guard sdp != nil || schedule != nil else { return nil }
            var offer = IncomingOffer(
                sdp: sdp ?? "",
                round: round,
                hasVideo: object.flag("hasVideo"),
                displayName: object.text("displayName"),
                callUUID: object.text("callUUID").flatMap { CallUUID($0) },
                ringUntil: object.number("ringUntil").map { Moment(milliseconds: $0) },
                isWaiting: object.flag("waiting") ?? false
            )
            offer.schedule = schedule
            // The server relays a handle as it came, and shows it in pushes like this.
            if schedule == nil { offer.handle = object.text("handle")?.shown() }
            offer.handleType = object.text("handleType").flatMap { CallClient.HandleType(rawValue: $0) }
            self = .offer(offer)
        case .ringing:
            // A server that does not know `shown` relays it. A device whose system does not show the call does not ring.
            if object.flag("shown") == false { return nil }
            self = .ringing
        case .answer:
            guard let sdp = object.text("sdp") else { return nil }
            self = .answer(sdp: sdp, round: round)
        case .ice: self = .ice(object.raw("candidate"), round: round)
        case .connected: self = .connected
        case .update:
            self = .update(
                MediaUpdate(
                    hold: object.flag("hold"),
                    audioMuted: object.flag("audioMuted"),
                    videoMuted: object.flag("videoMuted")
                )
            )
        case .dtmf: self = .dtmf(object.text("digits") ?? "")
        case .info: self = .info(object.raw("data") ?? "null")
        case .end: self = .end(object.text("reason").flatMap { EndReason(rawValue: $0) })
        }
    }
}

extension Ack {
    init(_ object: JSONObject) {
        self.init(
            callID: object.text("callId").flatMap { CallID($0) },
            epoch: object.number("epoch").flatMap { UInt32(exactly: $0) },
            seq: object.number("seq").flatMap { UInt64(exactly: $0) } ?? 0,
            state: object.text("state").flatMap { CallState(rawValue: $0) },
            reason: object.text("reason").flatMap { EndReason(rawValue: $0) },
            replacedBy: object.text("replacedBy").flatMap { CallID($0) }
        )
    }

    /// Reads the response to a `POST` from its HTTP status and its body.
    ///
    /// ```swift
    /// handle(.posted(signal.id, Ack.reply(status: response.statusCode, body: Array(data))))
    /// ```
    ///
    /// When there was no response, hand in ``RequestFailure/unreachable`` instead.
    public static func reply(status: Int, body: [UInt8]) -> Result<Ack, RequestFailure> {
        RequestFailure.read(status: status, body: body).map { Ack($0) }
    }
}

extension FetchedCall {
    /// Reads the response to a `GET` from its HTTP status and its body.
    ///
    /// ```swift
    /// handle(.fetched(number, FetchedCall.reply(status: response.statusCode, body: Array(data))))
    /// ```
    ///
    /// When there was no response, hand in ``RequestFailure/unreachable`` instead.
    public static func reply(status: Int, body: [UInt8]) -> Result<FetchedCall, RequestFailure> {
        RequestFailure.read(status: status, body: body).flatMap { object in
            // A malformed response counts as missing: the core asks again.
            guard let callID = object.text("callId").flatMap({ CallID($0) }),
                let epoch = object.number("epoch").flatMap({ UInt32(exactly: $0) }),
                let state = object.text("state").flatMap({ CallState(rawValue: $0) })
            else { return .failure(.unreachable) }
            let signals = object.objects("signals").map(ServerMessage.read)
            return .success(
                FetchedCall(
                    callID: callID,
                    epoch: epoch,
                    room: object.text("room"),
                    state: state,
                    reason: object.text("reason").flatMap { EndReason(rawValue: $0) },
                    replacedBy: object.text("replacedBy").flatMap { CallID($0) },
                    callUUID: object.text("callUUID").flatMap { CallUUID($0) },
                    signals: signals,
                    ringUntil: object.number("ringUntil").map { Moment(milliseconds: $0) },
                    next: object.number("next").flatMap { UInt64(exactly: $0) } ?? 0
                )
            )
        }
    }
}

extension RequestFailure {
    /// Reads why a request failed, from the HTTP status and the body of its response; `nil` if it succeeded.
    ///
    /// A status of 0 stands for no response.
    public init?(status: Int, body: [UInt8]) {
        guard !(200..<300).contains(status), case .failure(let failure) = Self.read(status: status, body: body) else {
            return nil
        }
        self = failure
    }

    fileprivate static func read(status: Int, body: [UInt8]) -> Result<JSONObject, RequestFailure> {
        let object = try? JSONObject(body)  // an error page of a proxy is no JSON object: then the status alone decides
        if (200..<300).contains(status) { return object.map { .success($0) } ?? .failure(.unreachable) }
        // The body came too slowly, so the request had no effect.
        if status == 408 { return .failure(.unreachable) }
        if let code = object?.text("code") { return .failure(.refused(code: code)) }
        let code = WireCode.allCases.first { $0.status == status }
        return .failure(code.map { .refused(code: $0.rawValue) } ?? .unreachable)
    }
}

extension JSONObject {
    /// Returns a user id, which the server writes as a number if it is one.
    fileprivate func user(_ name: String) -> UserID? {
        (text(name) ?? number(name).map { String($0) }).flatMap { UserID($0) }
    }

    /// Returns the objects in an array, whose grammar was checked with the whole text.
    func objects(_ name: String) -> [JSONObject] {
        guard let list = member(named: name).flatMap({ array($0) }) else { return [] }
        // An element that names a member twice is left out: the rest of the log is useful without it.
        return list.elements.compactMap { $0.kind == .object ? try? JSONObject(bytes, in: $0.value) : nil }
    }
}
