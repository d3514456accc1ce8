public import CallCore

/// What the server writes around a signal's own bytes when it relays it (protocol, section 3).
public struct RelayedSignal: Sendable {
    /// Its kind.
    public var kind: SignalKind
    /// Where it stands in its call.
    public var place: LogPlace
    /// Who sent it.
    public var from: UserID
    /// By which device.
    public var device: DeviceID
    /// The name the device gave it.
    public var id: SignalID?
    /// What the server computed for an offer.
    public var offer: OfferExtras?
    /// The reason of an end, as it holds.
    public var reason: EndReason?

    /// What the server computed for an offer (protocol, section 9).
    public struct OfferExtras: Equatable, Sendable {
        /// Whether the call has video.
        public var hasVideo: Bool
        /// The caller's name.
        public var displayName: String?
        /// What CallKit knows the call by.
        public var callUUID: String
        /// When ringing stops.
        public var ringUntil: Moment
        /// Whether the callee is in another call.
        public var isWaiting: Bool

        /// Extras of all their parts.
        public init(hasVideo: Bool, displayName: String?, callUUID: String, ringUntil: Moment, isWaiting: Bool) {
            self.hasVideo = hasVideo
            self.displayName = displayName
            self.callUUID = callUUID
            self.ringUntil = ringUntil
            self.isWaiting = isWaiting
        }
    }

    /// A signal of all its parts.
    public init(
        kind: SignalKind,
        place: LogPlace,
        from: UserID,
        device: DeviceID,
        id: SignalID?,
        offer: OfferExtras? = nil,
        reason: EndReason? = nil
    ) {
        self.kind = kind
        self.place = place
        self.from = from
        self.device = device
        self.id = id
        self.offer = offer
        self.reason = reason
    }

    /// The frame: headroom, then one JSON object that ends with the sender's own members as they came.
    public func frame(around relayed: RelayedMembers) -> [UInt8] {
        let names = place.log.members.count + from.text.utf8.count + device.text.utf8.count
        var json = JSONWriter(
            headroom: WireLimits.headroom,
            capacity: relayed.byteCount + names + (id?.text.utf8.count ?? 0) + (offer == nil ? 128 : 384)
        )
        json.part(Self.type)
        json.plainPart(kind.rawValue)
        json.part(Self.behindType)
        json.write(parts: place)
        json.part(Self.from)
        json.plainPart(from.text)
        json.part(Self.fromDevice)
        json.plainPart(device.text)
        if let id {
            json.part(Self.id)
            json.escaped(id.text)
        }
        json.endString()
        if let offer { json.write(offer) }
        if let reason {
            json.name("reason")
            json.plain(reason.rawValue)
        }
        json.write(relayed)
        json.endObject()
        return json.bytes
    }
}

extension RelayedSignal {
    // What is the same in every frame, each from behind a value to before the next one.
    private static let type = Array(#"{"type":""#.utf8)
    private static let behindType = Array(#"","#.utf8)
    private static let from = Array(#","from":""#.utf8)
    private static let fromDevice = Array(#"","fromDevice":""#.utf8)
    private static let id = Array(#"","id":""#.utf8)
}

/// Which call's log is meant: its name, its room as the caller wrote it (and so its two users), its epoch.
public struct LogName: Hashable, Sendable {
    /// The call.
    public var callID: CallID
    /// Its room.
    public var room: String
    /// Which use of the callId.
    public var epoch: UInt32

    /// The log of this call.
    public init(callID: CallID, room: String, epoch: UInt32) {
        self.callID = callID
        self.room = room
        self.epoch = epoch
    }
}

/// Which call's log is meant, as it stands in every frame of the call: written once.
public struct LogHead: Equatable, Sendable {
    /// From `callId` to before the number of the entry.
    let members: [UInt8]

    /// The head of a log's frames.
    public init(_ name: LogName) {
        var json = JSONWriter(capacity: 64)
        json.name("callId")
        json.plain(name.callID.text)
        json.name("room")
        json.plain(name.room)
        json.name("epoch")
        json.value(name.epoch)
        json.name("seq")
        members = json.bytes
    }
}

/// Where an entry stands: in which call, and where in its log.
public struct LogPlace: Equatable, Sendable {
    /// The call's log.
    public var log: LogHead
    /// The entry's number.
    public var seq: UInt64
    /// When it was appended.
    public var at: Moment

    /// A place of all its parts.
    public init(in log: LogHead, seq: UInt64, at: Moment) {
        self.log = log
        self.seq = seq
        self.at = at
    }
}

extension JSONWriter {
    /// The members that every relayed object and every `call` event carries.
    mutating func write(_ place: LogPlace) {
        comma()
        write(parts: place)
        endNumber()
    }

    /// From the call's name on.
    mutating func write(parts place: LogPlace) {
        part(place.log.members)
        digits(place.seq)
        part(Self.ts)
        digits(UInt64(max(0, place.at.milliseconds)))
    }

    private static let ts = Array(#","ts":"#.utf8)

    mutating func write(_ offer: RelayedSignal.OfferExtras) {
        name("hasVideo")
        value(offer.hasVideo)
        if let displayName = offer.displayName {
            name("displayName")
            value(displayName)
        }
        name("callUUID")
        plain(offer.callUUID)
        name("ringUntil")
        value(offer.ringUntil.milliseconds)
        if offer.isWaiting {
            name("waiting")
            value(true)
        }
    }
}
