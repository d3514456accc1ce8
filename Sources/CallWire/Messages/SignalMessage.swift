public import CallCore

/// A signal as a client sent it, by whichever way: what it says, to whom, and the bytes that go on as they came.
public struct SignalMessage: Sendable {
    /// What it says.
    public var content: Signal.Content
    /// The name its device gave it.
    public var id: SignalID?
    /// The call.
    public var callID: CallID?
    /// The other user, as the sender names them.
    public var to: UserID?
    /// The room, as the sender names it.
    public var room: String?
    /// The epoch that the sender means.
    public var epoch: UInt32?
    /// On whose behalf a service sends it.
    public var from: UserID?
    /// The device, where a request names one.
    public var device: DeviceID?
    /// The caller's name as it is shown, cut to its limit.
    public var displayName: String?
    /// The members that are relayed as they came.
    public var relayed: RelayedMembers

    /// Members that the server writes itself into everything that it relays: the sender's own are left out.
    private static let ours: FieldSet = [
        .type, .id, .callId, .room, .from, .fromDevice, .seq, .ts, .epoch, .token, .callUUID, .ringUntil, .waiting,
    ]

    /// Reads a signal whose kind is known from an object's members.
    ///
    /// `fields`: Where the kind's own fields stand.
    /// `envelope`: Where id, callId, to, room and epoch stand; the same object on a socket.
    /// `ringFor`: For how long an offer rings that does not say.
    public init(_ kind: SignalKind, fields: JSONObject, envelope: JSONObject, ringFor: Moment.Span) throws(WireError) {
        id = try envelope.signalID()
        callID = try envelope.callID()
        to = try envelope.user(.to)
        room = try envelope.text(.room)
        epoch = try envelope.epoch()
        if epoch == nil { epoch = try fields.epoch() }
        from = try envelope.range == fields.range ? nil : envelope.user(.from)
        device = try envelope.device(.deviceId)
        var left = Self.ours
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
                    ringFor: seconds.map { .seconds($0) } ?? ringFor,
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

    /// The signal as the call core takes it.
    public var signal: Signal { Signal(content, id: id, epoch: epoch, byteCount: relayed.byteCount) }
}

extension JSONObject {
    /// The session description, decoded and checked.
    fileprivate func description() throws(WireError) -> [UInt8] {
        guard let member = self[.sdp] else { throw .invalid(.sdp, "is missing") }
        guard case .string(let isPlain) = member.kind else { throw .invalid(.sdp, "must be a string") }
        let inner = bytes[member.value.lowerBound + 1..<member.value.upperBound - 1]
        guard let text = isPlain ? Array(inner) : JSONText.decoded(inner) else {
            throw .invalid(.sdp, "must be Unicode text")
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
        guard let member = member(.candidate) else { throw .invalid(.candidate, "is missing") }
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
        guard let digits = try text(.digits) else { throw .invalid(.digits, "is missing") }
        guard (1...WireLimits.digits).contains(digits.utf8.count), digits.utf8.allSatisfy(allowed.contains) else {
            throw .invalid(.digits, "must be 1 to \(WireLimits.digits) of 0–9 * # A–D and comma")
        }
    }

    fileprivate func checkInfo() throws(WireError) {
        guard let member = member(.data) else { throw .invalid(.data, "is missing") }
        guard member.value.count <= WireLimits.infoBytes else {
            throw WireError(.tooLarge, "data: at most \(WireLimits.infoBytes) bytes", field: Field.data.name)
        }
    }
}

extension String {
    /// The text, cut to so many characters: never within one, as a cut emoji is no text.
    public func cut(to count: Int) -> String { self.count <= count ? self : String(prefix(count)) }
}

extension String {
    /// The text; `nil` where nothing of it would be seen: a name that is blank is as good as none.
    public var unlessBlank: String? { allSatisfy(\.isWhitespace) ? nil : self }
}

extension SignalMessage {
    /// The end of a call with no reason given, as `DELETE` says it.
    public init(endOf callID: CallID) {
        content = .end(nil)
        self.callID = callID
        relayed = .none
    }
}
