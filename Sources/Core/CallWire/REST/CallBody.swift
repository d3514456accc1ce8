public import CallCore
import JSON

/// A call as the history shows it to one user (protocol, section 5).
public struct CallBody: Sendable {
    /// The call's number, unique over all calls.
    public var number: CallNumber
    /// The callId.
    public var callID: CallID
    /// The epoch of the call.
    public var epoch: UInt32
    /// The room as the caller named it.
    public var room: String
    /// The calling user.
    public var caller: UserID
    /// The called user.
    public var callee: UserID
    /// Whether the call has video.
    public var hasVideo: Bool
    /// The state of the call.
    public var state: CallState
    /// Why the call ended.
    public var reason: EndReason?
    /// The call from the user's point of view.
    public var direction: Direction
    /// When the offer arrived at the server.
    public var startedAt: Moment
    /// When the callee answered.
    public var answeredAt: Moment?
    /// When the call became active, by the first `connected` of a device in the answered call.
    public var activeAt: Moment?
    /// When the call ended.
    public var endedAt: Moment?
    /// The ring of a schedule that the call is; `nil` = a user's device has begun the call.
    public var scheduled: (schedule: ScheduleID, occurrence: Moment, ring: Int)?
    /// The legs that the user may see; with `nil`, the body has no member for them.
    public var legs: [Leg]?

    /// A call from a user's point of view.
    public enum Direction: String, Sendable {
        /// The user called.
        case outgoing
        /// The user was called, and answered.
        case incoming
        /// The user was called, and did not answer.
        case missed
    }

    /// Creates a call with the given members.
    public init(
        number: CallNumber,
        callID: CallID,
        epoch: UInt32,
        room: String,
        caller: UserID,
        callee: UserID,
        hasVideo: Bool,
        state: CallState,
        reason: EndReason?,
        direction: Direction,
        startedAt: Moment,
        answeredAt: Moment?,
        activeAt: Moment?,
        endedAt: Moment?,
        legs: [Leg]? = nil
    ) {
        self.number = number
        self.callID = callID
        self.epoch = epoch
        self.room = room
        self.caller = caller
        self.callee = callee
        self.hasVideo = hasVideo
        self.state = state
        self.reason = reason
        self.direction = direction
        self.startedAt = startedAt
        self.answeredAt = answeredAt
        self.activeAt = activeAt
        self.endedAt = endedAt
        self.legs = legs
    }

    /// Returns calls as an array, in this order.
    ///
    /// `asIntegers`: Whether user ids are written as integers.
    public static func list(_ calls: [CallBody], asIntegers: Bool) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.array(calls) { call, json in call.write(asIntegers, into: &json) }
        return json.bytes
    }

    /// Returns the call as an object.
    ///
    /// `asIntegers`: Whether user ids are written as integers.
    public func bytes(asIntegers: Bool) -> [UInt8] {
        var json = JSONWriter(capacity: legs == nil ? 512 : 1_024)
        write(asIntegers, into: &json)
        return json.bytes
    }

    private func write(_ asIntegers: Bool, into json: inout JSONWriter) {
        json.beginObject()
        json.name("id")
        json.value(number.rawValue)
        json.name("callId")
        json.plain(callID.text)
        json.name("epoch")
        json.value(epoch)
        json.name("room")
        json.plain(room)
        json.name("caller_id")
        json.id(caller, asInteger: asIntegers)
        json.name("callee_id")
        json.id(callee, asInteger: asIntegers)
        json.name("call_type")
        json.plain(hasVideo ? "video" : "audio")
        json.name("hasVideo")
        json.value(hasVideo)
        json.name("state")
        json.plain(state.rawValue)
        json.name("reason")
        if let reason { json.plain(reason.rawValue) } else { json.null() }
        json.name("direction")
        json.plain(direction.rawValue)
        json.name("started_at")
        json.timestamp(startedAt)
        json.name("duration")
        json.value(talkSeconds)
        json.optional("startedAt", startedAt)
        json.optional("answeredAt", answeredAt)
        json.optional("activeAt", activeAt)
        json.optional("endedAt", endedAt)
        json.name("ringMilliseconds")
        json.value(((answeredAt ?? endedAt).map { $0 - startedAt })?.milliseconds ?? 0)
        if let scheduled {
            json.name("scheduled")
            json.beginObject()
            json.name("schedule")
            json.plain(scheduled.schedule.text)
            json.name("occurrence")
            json.value(scheduled.occurrence.milliseconds)
            json.name("ring")
            json.value(Int64(scheduled.ring))
            json.endObject()
        }
        if let legs { write(legs, into: &json) }
        json.endObject()
    }

    private func write(_ legs: [Leg], into json: inout JSONWriter) {
        json.name("legs")
        json.array(legs) { leg, json in
            json.beginObject()
            json.name("side")
            json.plain(leg.side.rawValue)
            json.name("user")
            json.plain((leg.side == .caller ? caller : callee).text)
            json.name("device")
            json.plain(leg.device.id.text)
            json.name("state")
            // Only the server distinguishes whether a device was notified that it is out of the call.
            json.plain((leg.phase == .endNotDelivered ? Leg.Phase.left : leg.phase).rawValue)
            json.endObject()
        }
    }

    /// How long the two users talked, in whole seconds.
    private var talkSeconds: Int64 {
        guard let from = activeAt ?? answeredAt, let endedAt else { return 0 }
        return max(0, (endedAt - from).milliseconds / 1_000)
    }
}

extension JSONWriter {
    fileprivate mutating func optional(_ name: String, _ moment: Moment?) {
        self.name(name)
        if let moment { value(moment.milliseconds) } else { null() }
    }
}
