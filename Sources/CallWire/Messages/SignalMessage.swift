public import CallCore
public import JSON

/// A signal as a client sent it, on any transport: its content, its destination, and the bytes that are relayed
/// unchanged.
public struct SignalMessage: Sendable {
    /// The content of the signal.
    public var content: Signal.Content
    /// The `id` that the device gave the signal.
    public var id: SignalID?
    /// The callId.
    public var callID: CallID?
    /// The other user, if the sender names them.
    public var to: UserID?
    /// The room, if the sender names it.
    public var room: String?
    /// The epoch that the sender names; `nil` if the sender names none.
    public var epoch: UInt32?
    /// The user on whose behalf a service sends the signal.
    public var from: UserID?
    /// The sending device, if a request names it.
    public var device: DeviceID?
    /// The caller's display name, cut to its limit.
    public var displayName: String?
    /// The members that are relayed unchanged.
    public var relayed: RelayedMembers

    /// Members that are not relayed as the sender wrote them.
    ///
    /// The server writes its own values of these members where they apply, and never relays a `token`.
    private static let serverMembers: FieldSet = [
        .type, .id, .callId, .room, .from, .fromDevice, .seq, .ts, .epoch, .token, .callUUID, .ringUntil, .waiting,
    ]

    /// Reads a signal of a known kind from the members of an object.
    ///
    /// `fields`: The object with the kind's own fields.
    /// `envelope`: The object with id, callId, to, room and epoch; in a WebSocket frame it is the same object as
    /// `fields`.
    /// `ringTimeout`: The ring time of an offer that names none.
    public init(
        _ kind: SignalKind,
        fields: JSONObject,
        envelope: JSONObject,
        ringTimeout: Moment.Duration
    ) throws(WireError) {
        id = try envelope.signalID()
        callID = try envelope.callID()
        to = try envelope.user(.to)
        room = try envelope.text(.room)
        epoch = try envelope.epoch()
        if epoch == nil { epoch = try fields.epoch() }
        from = try envelope.range == fields.range ? nil : envelope.user(.from)
        device = try envelope.device(.deviceId)
        var left = Self.serverMembers
        switch kind {
        case .offer:
            let sdp = try fields.description()
            let hasVideo = try fields.flag(.hasVideo) ?? SDP.offersVideo(sdp)
            let seconds = try fields.seconds(.ringTimeout, in: WireLimits.ringSeconds)
            displayName = try fields.text(.displayName)?.cut(to: WireLimits.displayNameCharacters).unlessBlank
            content = .offer(
                Offer(
                    digest: SDP.digest(sdp),
                    hasVideo: hasVideo,
                    ringTimeout: seconds.map { .seconds($0) } ?? ringTimeout,
                    namesCallee: to != nil,
                    begins: try fields.flag(.begin) ?? false
                )
            )
            left.formUnion([.hasVideo, .displayName, .begin])
        case .ringing: content = .ringing
        case .answer: content = .answer(digest: SDP.digest(try fields.description()))
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
        case .info:
            try fields.checkInfo()
            content = .info
        case .end:
            content = .end(try fields.text(.reason).flatMap { EndReason(rawValue: $0) })
            left.insert(.reason)
        }
        relayed = RelayedMembers(of: fields, but: left)
    }

    /// The signal in the form that the call core handles.
    public var signal: Signal { Signal(content, id: id, epoch: epoch, byteCount: relayed.byteCount) }
}

extension JSONObject {
    /// Returns the session description, decoded and checked.
    fileprivate func description() throws(WireError) -> [UInt8] {
        guard let member = self[.sdp] else { throw .invalid(.sdp, "missing") }
        guard case .string(let isPlain) = member.kind else { throw .invalid(.sdp, "must be a string") }
        let inner = bytes[member.value.lowerBound + 1..<member.value.upperBound - 1]
        guard let text = isPlain ? Array(inner) : JSONText.decoded(inner) else {
            throw .invalid(.sdp, "must be valid Unicode")
        }
        guard text.count <= WireLimits.sdpBytes else {
            throw WireError(.tooLarge, "sdp: at most \(WireLimits.sdpBytes) bytes", field: Field.sdp.name)
        }
        guard SDP.isPlausible(text) else {
            throw WireError(.invalidSDP, "sdp: must begin with the line v=0", field: Field.sdp.name)
        }
        return text
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

extension String {
    /// Returns the text cut to at most that many characters.
    ///
    /// The cut is between two characters as people see them (grapheme clusters), because part of an emoji shows as
    /// something else.
    public func cut(to count: Int) -> String { self.count <= count ? self : String(prefix(count)) }
}

extension String {
    /// The text; `nil` if it is empty or all white space.
    ///
    /// A blank display name counts as none.
    public var unlessBlank: String? { allSatisfy(\.isWhitespace) ? nil : self }
}

extension SignalMessage {
    /// Creates an `end` without a reason, as a `DELETE` of the call requests it.
    public init(endOf callID: CallID) {
        content = .end(nil)
        self.callID = callID
        relayed = .none
    }
}
