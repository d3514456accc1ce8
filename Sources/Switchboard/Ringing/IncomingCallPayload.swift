public import CallCore
import CallWire

/// What a VoIP push says of a call that comes in (protocol, section 6); the one place where it is written.
public struct IncomingCallPayload: Sendable {
    /// The call's name.
    public var callID: String
    /// Which use of the name it is.
    public var epoch: UInt32
    /// Who calls.
    public var caller: String
    /// The caller's name as it is shown.
    public var name: String
    /// The room as the caller named it.
    public var room: String
    /// Whether it has video.
    public var hasVideo: Bool
    /// What CallKit knows it by.
    public var uuid: String
    /// When ringing stops.
    public var ringUntil: Moment
    /// What the woken app shows the server; `nil` leaves it out.
    public var act: String?
    /// The description as a JSON string; `nil` leaves it out.
    public var offer: ArraySlice<UInt8>?

    /// A payload of all its parts.
    public init(
        callID: String,
        epoch: UInt32,
        caller: String,
        name: String,
        room: String,
        hasVideo: Bool,
        uuid: String,
        ringUntil: Moment,
        act: String?,
        offer: ArraySlice<UInt8>? = nil
    ) {
        self.callID = callID
        self.epoch = epoch
        self.caller = caller
        self.name = name
        self.room = room
        self.hasVideo = hasVideo
        self.uuid = uuid
        self.ringUntil = ringUntil
        self.act = act
        self.offer = offer
    }

    /// The JSON that is sent at a moment.
    public func bytes(at now: Moment) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.beginObject()
        json.name("aps")
        json.beginObject()
        json.name("content-available")
        json.value(1)
        json.endObject()
        json.name("type")
        json.plain("call.incoming")
        json.name("callId")
        json.plain(callID)
        json.name("epoch")
        json.value(epoch)
        json.name("fromUserId")
        json.plain(caller)
        json.name("fromDisplayName")
        json.value(name)
        json.name("room")
        json.plain(room)
        json.name("hasVideo")
        json.value(hasVideo)
        json.name("callUUID")
        json.plain(uuid)
        json.name("handle")
        json.plain(caller)
        // The first app's code reads these two, its documents the two above.
        json.name("callerId")
        json.plain(caller)
        json.name("callerName")
        json.value(name)
        json.name("sentAt")
        json.value(now.milliseconds)
        json.name("ringUntil")
        json.value(ringUntil.milliseconds)
        if let act {
            json.name("act")
            json.plain(act)
        }
        if let offer {
            json.name("offer")
            json.raw(offer)
        }
        json.endObject()
        return json.bytes
    }
}
