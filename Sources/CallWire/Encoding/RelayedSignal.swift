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
    public func frame(around relayed: [UInt8]) -> [UInt8] {
        var json = JSONWriter(headroom: WireLimits.headroom, capacity: relayed.count + 384)
        json.beginObject()
        json.name("type")
        json.plain(kind.rawValue)
        json.write(place)
        json.name("from")
        json.plain(from.text)
        json.name("fromDevice")
        json.plain(device.text)
        if let id {
            json.name("id")
            json.value(id.text)
        }
        if let offer { json.write(offer) }
        if let reason {
            json.name("reason")
            json.plain(reason.rawValue)
        }
        json.rawMembers(relayed[...])
        json.endObject()
        return json.bytes
    }
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

/// Where an entry stands: in which call, and where in its log.
public struct LogPlace: Equatable, Sendable {
    /// The call.
    public var callID: CallID
    /// Its room, as the caller named it.
    public var room: String
    /// Which use of the callId.
    public var epoch: UInt32
    /// The entry's number.
    public var seq: UInt64
    /// When it was appended.
    public var at: Moment

    /// A place of all its parts.
    public init(callID: CallID, room: String, epoch: UInt32, seq: UInt64, at: Moment) {
        self.callID = callID
        self.room = room
        self.epoch = epoch
        self.seq = seq
        self.at = at
    }
}

extension JSONWriter {
    /// The members that every relayed object and every `call` event carries.
    mutating func write(_ place: LogPlace) {
        name("callId")
        plain(place.callID.text)
        name("room")
        plain(place.room)
        name("epoch")
        value(place.epoch)
        name("seq")
        value(place.seq)
        name("ts")
        value(place.at.milliseconds)
    }

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
