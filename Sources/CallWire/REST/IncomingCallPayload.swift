public import CallCore
import JSON

/// The payload of a push for an incoming call, a VoIP push or an alert (protocol, section 6).
///
/// This type is the only code that writes this payload.
public struct IncomingCallPayload: Sendable {
    /// The callId.
    public var callID: String
    /// The epoch of the call.
    public var epoch: UInt32
    /// The calling user.
    public var caller: String
    /// The caller's displayed name.
    public var name: String
    /// The user whose device is woken.
    public var callee: String
    /// The room as the caller named it.
    public var room: String
    /// Whether the call has video.
    public var hasVideo: Bool
    /// The UUID by which CallKit identifies the call.
    public var uuid: String
    /// When ringing stops.
    public var ringUntil: Moment
    /// The capability that the woken app presents to the server; `nil` leaves it out.
    public var capability: String?
    /// The description as a JSON string; `nil` leaves it out.
    public var offer: ArraySlice<UInt8>?
    /// The keys that the app wants besides.
    public var aliases = PayloadAliases()
    /// Whether the system shows the push as an alert, for a device without VoIP pushes.
    public var isAlert = false

    /// Creates a payload with the given members.
    public init(
        callID: String,
        epoch: UInt32,
        caller: String,
        name: String,
        callee: String,
        room: String,
        hasVideo: Bool,
        uuid: String,
        ringUntil: Moment,
        capability: String?,
        offer: ArraySlice<UInt8>? = nil
    ) {
        self.callID = callID
        self.epoch = epoch
        self.caller = caller
        self.name = name
        self.callee = callee
        self.room = room
        self.hasVideo = hasVideo
        self.uuid = uuid
        self.ringUntil = ringUntil
        self.capability = capability
        self.offer = offer
    }

    /// Returns the JSON that is sent at a moment.
    public func bytes(at now: Moment) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.beginObject()
        if isAlert {
            json.alert(hasVideo ? "Incoming video call" : "Incoming call", name, thread: caller, .ring)
        } else {
            json.name("aps")
            json.beginObject()
            json.name("content-available")
            json.value(1)
            json.endObject()
        }
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
        json.name("toUserId")
        json.plain(callee)
        json.name("room")
        json.plain(room)
        json.name("hasVideo")
        json.value(hasVideo)
        json.name("callUUID")
        json.plain(uuid)
        json.name("handle")
        json.plain(caller)
        // The code of the first app reads `callerId` and `callerName`, although that app's documents name `fromUserId`
        // and `fromDisplayName`.
        json.name("callerId")
        json.plain(caller)
        json.name("callerName")
        json.value(name)
        json.name("sentAt")
        json.value(now.milliseconds)
        json.name("ringUntil")
        json.value(ringUntil.milliseconds)
        if let capability {
            json.name("act")
            json.plain(capability)
        }
        if let offer {
            json.name("offer")
            json.raw(offer)
        }
        aliases.write(into: &json) { value(of: $0, at: now) }
        json.endObject()
        return json.bytes
    }

    /// The number of times that the payload contains the caller's name.
    public var copiesOfName: Int { (isAlert ? 3 : 2) + aliases.count(of: [.fromDisplayName, .callerName]) }

    private func value(of member: PayloadAliases.Member, at now: Moment) -> PayloadAliases.Value? {
        switch member {
        case .type: .text("call.incoming")
        case .callId: .text(callID)
        case .epoch: .number(Int64(epoch))
        case .fromUserId, .handle, .callerId: .text(caller)
        case .fromDisplayName, .callerName: .text(name)
        case .toUserId: .text(callee)
        case .room: .text(room)
        case .hasVideo: .flag(hasVideo)
        case .callUUID: .text(uuid)
        case .sentAt: .number(now.milliseconds)
        case .ringUntil: .number(ringUntil.milliseconds)
        case .act: capability.map { .text($0) }
        }
    }
}
