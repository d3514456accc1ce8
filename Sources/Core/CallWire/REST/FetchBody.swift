public import CallCore
import JSON

/// Everything that a device needs to know about a call, as a fetch shows it (protocol, section 5).
public struct FetchBody: Sendable {
    /// The callId.
    public var callID: CallID
    /// The epoch of the call.
    public var epoch: UInt32
    /// The room as the caller named it.
    public var room: String
    /// The state of the call for the device.
    public var state: CallState
    /// Why the call is over for the device.
    public var reason: EndReason?
    /// The call that goes on instead of this one.
    public var replacedBy: CallID?
    /// The UUID by which CallKit identifies the call.
    public var uuid: String
    /// The newest offer that the device may see.
    public var offer: Description?
    /// The newest answer that the device may see.
    public var answer: Description?
    /// The candidates that the device may see, each a JSON value.
    public var candidates: [ArraySlice<UInt8>] = []
    /// The relayed objects after the device's cursor, each a JSON object.
    public var signals: [ArraySlice<UInt8>] = []
    /// The ICE servers, a JSON array.
    public var iceServers: [UInt8]
    /// When ringing stops.
    public var ringUntil: Moment
    /// The cursor for the next fetch.
    public var next: UInt64

    /// A session description (SDP) with its sender.
    public struct Description: Sendable {
        /// `offer` or `answer`.
        public var kind: SignalKind
        /// The description, a JSON string.
        public var sdp: ArraySlice<UInt8>
        /// The user who sent it.
        public var from: UserID
        /// The device that sent it.
        public var device: DeviceID
        /// Whether the call has video, a JSON value; only in an offer; `nil` = no video.
        public var hasVideo: ArraySlice<UInt8>?
        /// The caller's displayed name, a JSON value; only in an offer.
        public var displayName: ArraySlice<UInt8>?

        /// Creates a description with the given members.
        public init(
            kind: SignalKind,
            sdp: ArraySlice<UInt8>,
            from: UserID,
            device: DeviceID,
            hasVideo: ArraySlice<UInt8>?,
            displayName: ArraySlice<UInt8>?
        ) {
            self.kind = kind
            self.sdp = sdp
            self.from = from
            self.device = device
            self.hasVideo = hasVideo
            self.displayName = displayName
        }
    }

    /// Creates a call without descriptions, candidates and signals.
    public init(
        callID: CallID,
        epoch: UInt32,
        room: String,
        state: CallState,
        reason: EndReason?,
        uuid: String,
        iceServers: [UInt8],
        ringUntil: Moment,
        next: UInt64
    ) {
        self.callID = callID
        self.epoch = epoch
        self.room = room
        self.state = state
        self.reason = reason
        self.uuid = uuid
        self.iceServers = iceServers
        self.ringUntil = ringUntil
        self.next = next
    }

    /// Returns the call as an object.
    ///
    /// `asIntegers`: Whether user ids are written as integers.
    public func bytes(asIntegers: Bool) -> [UInt8] {
        var json = JSONWriter(capacity: 8_192)
        json.beginObject()
        json.name("callId")
        json.plain(callID.text)
        json.name("epoch")
        json.value(epoch)
        json.name("room")
        json.plain(room)
        json.name("state")
        json.plain(state.rawValue)
        json.name("reason")
        if let reason { json.plain(reason.rawValue) } else { json.null() }
        if let replacedBy {
            json.name("replacedBy")
            json.plain(replacedBy.text)
        }
        json.name("callUUID")
        json.plain(uuid)
        json.name("offer")
        json.description(offer, asIntegers)
        json.name("answer")
        json.description(answer, asIntegers)
        json.name("candidates")
        json.array(candidates) { candidate, json in json.raw(candidate) }
        json.name("signals")
        json.array(signals) { signal, json in json.raw(signal) }
        json.name("iceServers")
        json.raw(iceServers)
        json.name("ringUntil")
        json.value(ringUntil.milliseconds)
        json.name("next")
        json.value(next)
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes a description, or null.
    fileprivate mutating func description(_ description: FetchBody.Description?, _ asIntegers: Bool) {
        guard let description else { return null() }
        beginObject()
        name("sdp")
        raw(description.sdp)
        name("type")
        plain(description.kind.rawValue)
        name("from")
        id(description.from, asInteger: asIntegers)
        name("fromDevice")
        plain(description.device.text)
        if description.kind == .offer {
            name("hasVideo")
            raw(description.hasVideo ?? ArraySlice("false".utf8))
            name("displayName")
            raw(description.displayName ?? ArraySlice("null".utf8))
        }
        endObject()
    }
}

/// A signal of a call's log, in the form that older apps read (protocol, section 5).
public struct FetchedSignal: Sendable {
    /// The kind of the signal.
    public var kind: SignalKind
    /// The members that the sender wrote, without the braces.
    public var members: ArraySlice<UInt8>
    /// The user who sent it.
    public var from: UserID
    /// The device that sent it.
    public var device: DeviceID
    /// The `id` that the device gave it.
    public var id: SignalID?
    /// The epoch of the call.
    public var epoch: UInt32
    /// The number of the entry.
    public var seq: UInt64
    /// When it was logged.
    public var at: Moment

    /// Creates a signal with the given members.
    public init(
        kind: SignalKind,
        members: ArraySlice<UInt8>,
        from: UserID,
        device: DeviceID,
        id: SignalID?,
        epoch: UInt32,
        seq: UInt64,
        at: Moment
    ) {
        self.kind = kind
        self.members = members
        self.from = from
        self.device = device
        self.id = id
        self.epoch = epoch
        self.seq = seq
        self.at = at
    }

    /// Returns signals as an array, in this order.
    ///
    /// `asIntegers`: Whether user ids are written as integers.
    public static func list(_ signals: [FetchedSignal], asIntegers: Bool) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.array(signals) { signal, json in
            json.beginObject()
            json.name("action")
            json.plain(signal.kind.rawValue)
            json.name("data")
            json.beginObject()
            json.rawMembers(signal.members)
            json.endObject()
            json.name("from")
            json.id(signal.from, asInteger: asIntegers)
            json.name("fromDevice")
            json.plain(signal.device.text)
            if let id = signal.id {
                json.name("id")
                json.value(id.text)
            }
            json.name("epoch")
            json.value(signal.epoch)
            json.name("seq")
            json.value(signal.seq)
            json.name("ts")
            json.value(signal.at.milliseconds)
            json.endObject()
        }
        return json.bytes
    }
}
