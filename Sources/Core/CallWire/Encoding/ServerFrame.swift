public import CallCore
public import JSON

/// The frames that the server itself originates.
///
/// Each begins with ``Frame/headroom`` free bytes.
public enum ServerFrame {
    /// Returns the `welcome`, the first frame on a connection.
    public static func welcome(
        user: UserID,
        device: DeviceID,
        session: String,
        heartbeatSeconds: Int64,
        iceServers: [UInt8],
        frameBytes: Int,
        signalsPerSecond: Int,
        applicationServerKey: String? = nil
    ) -> [UInt8] {
        frame { json in
            json.type("welcome")
            json.name("v")
            json.value(1)
            json.name("user")
            json.plain(user.text)
            json.name("device")
            json.plain(device.text)
            json.name("session")
            json.plain(session)
            json.name("heartbeat")
            json.value(heartbeatSeconds)
            json.name("iceServers")
            json.raw(iceServers)
            if let applicationServerKey {
                json.name("applicationServerKey")
                json.plain(applicationServerKey)
            }
            json.name("limits")
            json.beginObject()
            json.name("frame")
            json.value(frameBytes)
            json.name("signalsPerSecond")
            json.value(signalsPerSecond)
            json.endObject()
        }
    }

    /// Returns the ack of a durable signal, also for a resend.
    ///
    /// `seq`: The number of the signal's entry; 0 = it needed no entry, and the ack has no `seq`.
    /// `outcome`: The end of the call, if the ack must report it; `nil` otherwise.
    public static func ack(
        id: SignalID,
        callID: CallID,
        epoch: UInt32,
        seq: UInt64,
        outcome: StateChange?
    ) -> [UInt8] {
        var json = JSONWriter(
            beginning: ackBeginning,
            capacity: id.text.utf8.count + callID.text.utf8.count + (outcome == nil ? 80 : 384)
        )
        json.part(of: id)
        json.part(ackCallID)
        json.plainPart(callID.text)
        json.part(ackEpoch)
        json.digits(UInt64(epoch))
        if seq > 0 {
            json.part(ackSeq)
            json.digits(seq)
        }
        json.endNumber()
        if let outcome { json.write(outcome) }
        json.endObject()
        return json.bytes
    }

    /// Returns the ack of a durable signal that has an entry in a log.
    ///
    /// The bytes are those of ``ack(id:callID:epoch:seq:outcome:)``.
    public static func ack(id: SignalID, in log: EncodedLogIdentity, seq: UInt64) -> [UInt8] {
        var json = ack(id: id, in: log, seq: seq, capacity: 48)
        json.endObject()
        return json.bytes
    }

    /// Returns the same ack, with the end of the call if the ack must report it.
    public static func ack(id: SignalID, in log: EncodedLogIdentity, seq: UInt64, outcome: StateChange?) -> [UInt8] {
        guard let outcome else { return ack(id: id, in: log, seq: seq) }
        var json = ack(id: id, in: log, seq: seq, capacity: 352)
        json.write(outcome)
        json.endObject()
        return json.bytes
    }

    /// Returns a writer that has written the members of an ack up to `seq`, with room for `capacity` more bytes.
    @inline(__always)
    private static func ack(id: SignalID, in log: EncodedLogIdentity, seq: UInt64, capacity: Int) -> JSONWriter {
        var json = JSONWriter(
            beginning: ackBeginning,
            capacity: id.text.utf8.count + log.ack.count + capacity
        )
        json.part(of: id)
        json.part(log.ack)
        json.digits(seq)
        json.endNumber()
        return json
    }

    // The constant parts of every ack: the bytes before the first value, and those between two values.
    private static let ackBeginning = Frame(Array(#"{"type":"ack","id":""#.utf8)).bytes
    private static let ackCallID = Array(#"","callId":""#.utf8)
    private static let ackEpoch = Array(#"","epoch":"#.utf8)
    private static let ackSeq = Array(#","seq":"#.utf8)

    /// Returns the ack of a request that concerns no call and has taken effect.
    public static func ack(id: SignalID) -> [UInt8] {
        frame { json in
            json.type("ack")
            json.name("id")
            json.value(id.text)
        }
    }

    /// Returns the ack of a request about another user.
    ///
    /// `isOnline` is whether that user has a connection.
    public static func ack(id: SignalID, isOnline: Bool) -> [UInt8] {
        frame { json in
            json.type("ack")
            json.name("id")
            json.value(id.text)
            json.name("online")
            json.value(isOnline)
        }
    }

    /// Returns the frame of a text from another user.
    public static func message(_ message: TextMessage, from: UserID, device: DeviceID, at now: Moment) -> [UInt8] {
        frame { json in
            json.type("message")
            json.name("from")
            json.plain(from.text)
            json.name("fromDevice")
            json.plain(device.text)
            json.name("ts")
            json.value(now.milliseconds)
            json.rawMembers(message.relayed[...])
        }
    }

    /// Returns the frame that reports that a user came online or went offline.
    public static func presence(of user: UserID, isOnline: Bool) -> [UInt8] {
        frame { json in
            json.type("presence")
            json.name("userId")
            json.plain(user.text)
            json.name("online")
            json.value(isOnline)
        }
    }

    /// Returns the frame that reports an event of a call's timeline to a service that watches the call; `event` writes
    /// the members of the event.
    public static func timeline(
        of callID: CallID,
        epoch: UInt32,
        caller: UserID,
        callee: UserID,
        event: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        frame { json in
            json.type("timeline")
            json.name("callId")
            json.plain(callID.text)
            json.name("epoch")
            json.value(epoch)
            json.name("caller")
            json.plain(caller.text)
            json.name("callee")
            json.plain(callee.text)
            event(&json)
        }
    }

    /// Returns the notice that the server shuts down and will close the connection.
    ///
    /// `reconnectAfterMs` is the time after which to reconnect, in milliseconds.
    public static func draining(reconnectAfterMs: Int64) -> [UInt8] {
        frame { json in
            json.type("draining")
            json.name("reconnectAfterMs")
            json.value(reconnectAfterMs)
        }
    }

    /// Returns the refusal of a frame.
    public static func error(_ error: WireError, id: SignalID?, callID: CallID? = nil) -> [UInt8] {
        frame { json in
            json.type("error")
            if let id {
                json.name("id")
                json.value(id.text)
            }
            if let callID {
                json.name("callId")
                json.plain(callID.text)
            }
            json.write(error)
            if let code = error.appCode {
                json.name("appCode")
                json.plain(code)
            }
            if let seconds = error.retryAfterSeconds {
                json.name("retryAfter")
                json.value(seconds)
            }
        }
    }

    /// Returns the `call` event for a change of a call's state.
    public static func call(_ change: StateChange, callee: UserID, at position: LogPosition) -> [UInt8] {
        var json = JSONWriter(beginning: callBeginning, capacity: 240)
        json.write(position)
        json.write(change)
        if let device = change.answeredBy {
            json.name("answeredBy")
            json.beginObject()
            json.name("user")
            json.plain(callee.text)
            json.name("device")
            json.plain(device.id.text)
            json.endObject()
        }
        json.endObject()
        return json.bytes
    }

    private static let callBeginning = Frame(Array(#"{"type":"call","#.utf8)).bytes

    /// Returns the frame that reports that a member of a room came or left.
    public static func peer(room: String, user: UserID, device: DeviceID, isPresent: Bool) -> [UInt8] {
        frame { json in
            json.type("peer")
            json.name("room")
            json.value(room)
            json.name("user")
            json.plain(user.text)
            json.name("device")
            json.plain(device.text)
            json.name("present")
            json.value(isPresent)
        }
    }

    private static func frame(_ body: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter(headroom: Frame.headroom)
        json.beginObject()
        body(&json)
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func type(_ type: String) {
        name("type")
        plain(type)
    }

    /// Writes a user id: as an integer if `asInteger` is set and the id is an integer up to
    /// ``WireLimits/largestNumber``, and otherwise as a string.
    public mutating func id(_ user: UserID, asInteger: Bool) {
        let number = asInteger ? Int64(user.text) : nil
        if let number, (0...WireLimits.largestNumber).contains(number), String(number) == user.text {
            value(number)
        } else {
            plain(user.text)
        }
    }

    /// Writes an error as members: `code`, `message`, and, if a field is wrong, `field`.
    public mutating func write(_ error: WireError) {
        problemMembers(code: error.code.rawValue, message: error.message, field: error.field)
    }

    /// Writes a call's state and, if they are set, the reason, the callId of the call that goes on instead of this one,
    /// and the `id` of the offer.
    public mutating func write(_ change: StateChange) {
        comma()
        part(Self.members(of: change.state))
        endNumber()
        if let reason = change.reason {
            name("reason")
            plain(reason.rawValue)
        }
        if let replacement = change.replacedBy {
            name("replacedBy")
            plain(replacement.text)
        }
        if let offer = change.offerID {
            part(Self.offerID)
            part(of: offer)
            endString()
        }
    }

    private static let offerID = Array(#","offerId":""#.utf8)

    /// Returns the member with a call's state.
    private static func members(of state: CallState) -> [UInt8] {
        switch state {
        case .ringing: ringing
        case .answered: answered
        case .active: active
        case .ended: ended
        }
    }

    private static let ringing = member(.ringing)
    private static let answered = member(.answered)
    private static let active = member(.active)
    private static let ended = member(.ended)

    private static func member(_ state: CallState) -> [UInt8] { Array(#""state":"\#(state.rawValue)""#.utf8) }
}
