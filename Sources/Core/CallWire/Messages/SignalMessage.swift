public import CallCore
public import JSON

/// A signal as a client sent it, on any transport: its content, its destination, and the bytes that are relayed
/// unchanged.
///
/// It has at most 256 bytes: `memcpy` takes a slower way for more, and a message is copied some times on its way.
public struct SignalMessage: Sendable {
    /// The signal in the form that the call core handles.
    public internal(set) var signal: Signal
    /// The callId.
    public var callID: CallID?
    /// The other user, if the sender names them.
    public var to: UserID?
    /// The room, if the sender names it.
    public var room: String?
    /// The sending device, if a request names it.
    public var device: DeviceID?
    /// The caller's display name as it is shown; `nil` if nothing in it is visible.
    public var displayName: String?
    /// The members that are relayed unchanged.
    public internal(set) var relayed: RelayedMembers
    /// The members that only a request's body has; kept apart, so that a frame's signal stays small.
    var request: RequestMembers?

    /// The user on whose behalf a service sends the signal.
    public var from: UserID? {
        get { request?.from }
        set { request = RequestMembers(from: newValue, unknownNames: unknownNames) }
    }

    /// The names of members in a request's body that the server does not know; those of a frame are in its
    /// ``ClientMessage``.
    public internal(set) var unknownNames: [String] {
        get { request?.unknownNames ?? [] }
        set { request = RequestMembers(from: from, unknownNames: newValue) }
    }

    final class RequestMembers: Sendable {
        let from: UserID?
        let unknownNames: [String]

        init?(from: UserID?, unknownNames: [String]) {
            guard from != nil || !unknownNames.isEmpty else { return nil }
            (self.from, self.unknownNames) = (from, unknownNames)
        }
    }

    /// The members of a frame's envelope that most signals do not have.
    fileprivate static let rareMembers: FieldSet = [.to, .room, .epoch, .deviceId]

    /// Members that are not relayed as the sender wrote them.
    ///
    /// The server writes its own values of these members where they apply, and never relays a `token`.
    fileprivate static let serverMembers: FieldSet = [
        .type, .id, .callId, .room, .from, .fromDevice, .seq, .ts, .epoch, .token, .callUUID, .ringUntil, .waiting,
        .scheduled,
    ]

    /// The memory that held the message's member list, for reuse by the next message.
    public var scratch: [JSONObject.Member] { relayed.scratch }

    /// The content of the signal.
    public var content: Signal.Content { signal.content }

    /// Whether a `ringing` says that the push which woke the device came with normal instead of high priority.
    public var hadLowPriority: Bool { signal.kind == .ringing && relayed.text(of: .priority) == "normal" }

    /// Whether it is an answer without a session description, as only a scheduled call accepts it.
    public var lacksDescription: Bool { signal.kind == .answer && !relayed.contains(.sdp) }

    /// Leaves out the members `handle` and `handleType`, unless the handle is the user's own id.
    public mutating func omitHandle(of user: UserID) {
        guard let handle = relayed.text(of: .handle), handle != user.text else { return }
        relayed = relayed.leavingOut([.handle, .handleType])
        signal.byteCount = relayed.byteCount
    }

    /// Shows the caller by another handle, in place of the one that the sender wrote.
    package mutating func setHandle(_ handle: String, _ type: IncomingCallPayload.HandleType) {
        relayed = relayed.replacing([.handle, .handleType]) { json in
            json.name(Field.handle.name)
            json.value(handle)
            json.name(Field.handleType.name)
            json.plain(type.rawValue)
        }
        signal.byteCount = relayed.byteCount
    }

    /// Makes the signal an offer with other values; the ring time that the sender wrote is not relayed.
    package mutating func setOffer(_ offer: Offer) {
        relayed = relayed.leavingOut([.ringTimeout])
        signal.content = .offer(offer)
        signal.byteCount = relayed.byteCount
    }

    /// Whether a relayed frame of a signal of the same type has this signal's content.
    ///
    /// It is always true for the types that change the state of the call: their resends may have another description or
    /// reason.
    public func hasContent(of frame: [UInt8]) -> Bool {
        let fields: [Field] =
            switch signal.kind {
            case .ice: [.candidate]
            case .dtmf: [.digits]
            case .info: [.data]
            case .update: [.hold, .audioMuted, .videoMuted]
            case .offer, .ringing, .answer, .connected, .end: []
            }
        guard !fields.isEmpty, let other = RelayedObject(frame) else { return true }
        return fields.allSatisfy { relayed.value(of: $0) == other.value(of: $0) }
    }

    /// The `id` that the device gave the signal.
    public var id: SignalID? { signal.id }

    /// The epoch that the sender names; `nil` if the sender names none.
    public var epoch: UInt32? {
        get { signal.epoch }
        set { signal.epoch = newValue }
    }
}

extension SignalMessage {
    /// Reads a signal of a known kind from the members of an object.
    ///
    /// `id`: The `id` of the envelope.
    /// `fields`: The object with the kind's own fields.
    /// `envelope`: The object with id, callId, to, room and epoch; in a WebSocket frame it is the same object as
    /// `fields`.
    /// `ringTimeout`: The ring time of an offer that names none.
    public init(
        _ kind: SignalKind,
        id: SignalID?,
        fields: borrowing JSONObject,
        envelope: borrowing JSONObject,
        ringTimeout: Moment.Duration
    ) throws(WireError) {
        self = try Self.read(kind, id: id, fields: fields, envelope: envelope, ringTimeout: ringTimeout)
    }

    /// Reads a signal as the initialiser does.
    ///
    /// An initialiser with many properties copies the message when it ends, and destroys the original.
    static func read(
        _ kind: SignalKind,
        id: SignalID?,
        fields: borrowing JSONObject,
        envelope: borrowing JSONObject,
        ringTimeout: Moment.Duration
    ) throws(WireError) -> SignalMessage {
        let callID = try envelope.callID()
        var to: UserID?
        var room: String?
        var epoch: UInt32?
        var device: DeviceID?
        let isFrame = envelope.range == fields.range
        // Most frames have none of these members, and need only one test.
        if !isFrame || envelope.contains(anyOf: Self.rareMembers) {
            to = try envelope.user(.to)
            room = try envelope.text(.room)
            epoch = try envelope.epoch()
            if epoch == nil { epoch = try fields.epoch() }
            device = try envelope.device(.deviceId)
        }
        var displayName: String?
        var left = Self.serverMembers
        let content = try Self.content(
            of: kind,
            fields,
            namesCallee: to != nil,
            ringTimeout: ringTimeout,
            &displayName,
            &left
        )
        let relayed = RelayedMembers(of: copy fields, but: left)
        return SignalMessage(
            signal: Signal(content, id: id, epoch: epoch, byteCount: relayed.byteCount),
            callID: callID,
            to: to,
            room: room,
            device: device,
            displayName: displayName,
            relayed: relayed
        )
    }

    /// Reads what a signal of a kind says.
    ///
    /// `namesCallee`: Whether the signal has a member `to`. `displayName`: Receives the name that an offer shows.
    /// `left`: Receives the members of this kind that are not relayed as the sender wrote them.
    ///
    /// Inlined, because it runs once for each signal.
    @inline(__always)
    private static func content(
        of kind: SignalKind,
        _ fields: borrowing JSONObject,
        namesCallee: Bool,
        ringTimeout: Moment.Duration,
        _ displayName: inout String?,
        _ left: inout FieldSet
    ) throws(WireError) -> Signal.Content {
        let content: Signal.Content
        switch kind {
        case .offer:
            let sdp = try fields.description()
            let hasVideo = try fields.flag(.hasVideo) ?? sdp.offersVideo
            let seconds = try fields.seconds(.ringTimeout, in: WireLimits.ringSeconds)
            displayName = try fields.text(.displayName)?.shown(upTo: WireLimits.displayNameCharacters)
            content = .offer(
                Offer(
                    digest: sdp.digest,
                    hasVideo: hasVideo,
                    ringTimeout: seconds.map { .seconds($0) } ?? ringTimeout,
                    namesCallee: namesCallee,
                    begins: try fields.flag(.begin) ?? false
                )
            )
            left.formUnion([.hasVideo, .displayName, .begin])
        case .ringing:
            let why = try fields.text(.why).flatMap { Silence(rawValue: $0) }
            content = try fields.flag(.shown) == false ? .silenced(why ?? .system) : .ringing
            _ = try fields.text(.priority)
            left.insert(.priority)
        case .answer where fields[.sdp] == nil:
            content = .answer(digest: 0)
        case .answer: content = .answer(digest: try fields.description().digest)
        case .ice:
            try fields.checkCandidate()
            content = .ice
        case .connected: content = .connected
        case .update:
            content = .update(
                MediaUpdate(
                    hold: try fields.flag(.hold),
                    audioMuted: try fields.flag(.audioMuted),
                    videoMuted: try fields.flag(.videoMuted)
                )
            )
        case .dtmf:
            try fields.checkDigits()
            content = .dtmf
        case .info where try fields.flag(.confirm) == true: content = .confirm
        case .info:
            try fields.checkInfo()
            content = .info
        case .end:
            content = .end(try fields.text(.reason).flatMap { EndReason(rawValue: $0) })
            left.insert(.reason)
        }
        return content
    }
}

extension JSONObject {
    /// Returns the parts of the session description that a server reads; the description is checked.
    fileprivate func description() throws(WireError) -> SessionDescription {
        guard let member = self[.sdp] else { throw .invalid(.sdp, "missing") }
        guard case .string = member.kind else { throw .invalid(.sdp, "must be a string") }
        let inner = member.value.lowerBound + 1..<member.value.upperBound - 1
        guard
            let description = SessionDescription(written: bytes.span.extracting(inner))
                ?? JSONText.decoded(bytes[inner]).map({ SessionDescription($0) })
        else {
            throw .invalid(.sdp, "must be valid Unicode")
        }
        guard description.byteCount <= WireLimits.sdpBytes else {
            throw WireError(.tooLarge, "sdp: at most \(WireLimits.sdpBytes) bytes", field: Field.sdp.name)
        }
        guard description.isPlausible else {
            throw WireError(.invalidSDP, "sdp: must begin with the line v=0", field: Field.sdp.name)
        }
        return description
    }

    fileprivate func checkCandidate() throws(WireError) {
        guard let member = member(.candidate) else { throw .invalid(.candidate, "missing") }
        guard member.kind == .object || member.kind == .null else {
            throw .invalid(.candidate, "must be an object, or null at the end of candidates")
        }
        guard member.value.count <= WireLimits.candidateBytes else {
            throw WireError(
                .tooLarge,
                "candidate: at most \(WireLimits.candidateBytes) bytes",
                field: Field.candidate.name
            )
        }
    }

    fileprivate func checkDigits() throws(WireError) {
        let allowed = Set("0123456789*#ABCD,".utf8)
        guard let digits = try text(.digits) else { throw .invalid(.digits, "missing") }
        guard (1...WireLimits.digits).contains(digits.utf8.count), digits.utf8.allSatisfy(allowed.contains) else {
            throw .invalid(.digits, "must be 1 to \(WireLimits.digits) characters of 0–9 * # A–D and comma")
        }
    }

    fileprivate func checkInfo() throws(WireError) {
        guard let member = member(.data) else { throw .invalid(.data, "missing") }
        guard member.value.count <= WireLimits.infoBytes else {
            throw WireError(.tooLarge, "data: at most \(WireLimits.infoBytes) bytes", field: Field.data.name)
        }
    }
}

extension SignalMessage {
    /// Creates an `end` without a reason, as a `DELETE` of the call requests it.
    public init(endOf callID: CallID) {
        self.init(signal: Signal(.end(nil)), callID: callID, relayed: .none)
    }
}
