public import CallCore
public import JSON

extension JSONObject {
    /// Returns the kind of signal that a body names in `action`, `type` or `signalType`.
    fileprivate func action() throws(WireError) -> SignalKind {
        for field in [Field.action, .type, .signalType] {
            guard let action = try text(field) else { continue }
            guard let kind = SignalKind(rawValue: action) else { throw .unknown(field, action) }
            return kind
        }
        throw .invalid(.action, "missing")
    }

    /// Scans the body of a request, or one object inside it.
    public static func ofBody(_ body: [UInt8], in part: Range<Int>? = nil) throws(WireError) -> JSONObject {
        guard part != nil || JSONText.isUTF8(body) else { throw .json(.notUTF8) }
        do throws(JSONFault) {
            return try JSONObject(body, in: part ?? 0..<body.count)
        } catch {
            throw WireError.json(error)
        }
    }
}

extension SignalMessage {
    /// Reads the body of `POST /api/calls/signal` (protocol, section 5).
    ///
    /// The kind, the `id`, and the fields that identify the call and the device are at the top level. The kind's own
    /// fields are in `data`. A body in the shape of a WebSocket frame, without `data`, is accepted as well.
    ///
    /// `callIDInPath`: The callId in the path. The body may omit the callId, but must not name another one.
    /// `idempotencyKey`: The request's `Idempotency-Key`, which counts as the body's `id`.
    /// `ringTimeout`: The ring time of an offer that names none.
    public init(
        body: [UInt8],
        callIDInPath: CallID?,
        idempotencyKey: String? = nil,
        ringTimeout: Moment.Duration
    ) throws(WireError) {
        let object = try JSONObject.ofBody(body)
        let kind = try object.action()
        var fields = object
        if let data = object[.data] {
            if data.kind == .object {
                fields = try JSONObject.ofBody(body, in: data.value)
            } else if kind != .info {
                throw .invalid(.data, "must be an object")
            }
        }
        let id = try IdempotencyKey.id(object.signalID(), orOf: idempotencyKey) { SignalID($0) }
        try self.init(kind, id: id, fields: fields, envelope: object, ringTimeout: ringTimeout)
        if fields.range == object.range {
            relayed = RelayedMembers(
                of: object,
                but: Self.envelopeInBody.union(kind == .offer ? [.hasVideo, .displayName, .begin] : [])
            )
            signal.byteCount = relayed.byteCount
        }
        unknownNames = object.unknownNames
        if fields.range != object.range { unknownNames += fields.unknownNames }
        from = try object.user(.from)
        if let callIDInPath {
            guard callID == nil || callID == callIDInPath else {
                throw .invalid(.callId, "must equal the callId in the path, or be absent")
            }
            callID = callIDInPath
        }
        if to == nil, case .offer(var offer) = content {
            if let named = try fields.user(.to) {
                to = named
                offer.namesCallee = true
                signal.content = .offer(offer)
            } else if room == nil {
                room = try fields.text(.room)
            }
        }
    }

    /// The members that are not relayed from a body in the shape of a WebSocket frame.
    private static let envelopeInBody: FieldSet = [
        .type, .action, .signalType, .id, .callId, .room, .from, .fromDevice, .seq, .ts, .epoch, .token, .callUUID,
        .ringUntil, .waiting, .deviceId, .reason, .scheduled,
    ]
}
