import CallCore
import CallPorts
import JSON

/// The member `data` of an event of a call (protocol, section 13.2).
///
/// It shows the call as it was at the event, even if the same commit has later events of the call.
struct CallEventData {
    let call: CallSession
    let scheduled: ScheduledRing?
    let type: AppEventType
    let number: UInt32
    /// Why nobody can be rung any more, or the callee has missed the call.
    var why: String?
    /// Why the call rang or did not, in sentences.
    var verdict: [String]?

    init(_ call: Call, _ type: AppEventType, number: UInt32) {
        self.call = call.session
        scheduled = call.scheduled
        self.type = type
        self.number = number
    }

    /// How far the call had come at the event.
    private var stage: Int {
        switch type {
        case .callStarted: 0
        case .callRinging, .callUnreachable: 1
        case .callAnswered: 2
        case .callActive: 3
        default: 4
        }
    }

    private var state: CallState {
        switch stage {
        case 0, 1: .ringing
        case 2: .answered
        case 3: .active
        default: .ended
        }
    }

    private var ringing: LogEntry? { stage >= 1 ? call.log.firstRinging : nil }

    private var ending: CallSession.Ending? {
        if stage >= 4, case .ended(let ending, _) = call.phase { ending } else { nil }
    }

    /// Returns when the event happened; `now` if the call does not know.
    func at(_ now: Moment) -> Moment {
        switch type {
        case .callStarted: call.startedAt
        case .callRinging: call.log.firstRinging?.at ?? now
        case .callAnswered: call.answeredAt ?? now
        case .callActive: call.activeAt ?? now
        case .callEnded, .callMissed: ending?.at ?? now
        default: now
        }
    }

    /// The JSON object.
    var bytes: [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.name("n")
        json.value(number)
        json.name("call")
        writeCall(into: &json)
        switch type {
        case .callRinging:
            json.name("device")
            if case .signal(_, _, let device, _, _)? = call.log.firstRinging?.content {
                json.plain(device.id.text)
            } else {
                json.null()
            }
        case .callUnreachable, .callMissed:
            json.name("why")
            if let why { json.plain(why) } else { json.null() }
        case .callEnded: writeEnd(into: &json)
        default: break
        }
        json.endObject()
        return json.bytes
    }

    private func writeCall(into json: inout JSONWriter) {
        json.beginObject()
        json.name("callId")
        json.plain(call.key.id.text)
        json.name("epoch")
        json.value(call.epoch)
        json.name("caller")
        json.plain(call.caller.text)
        json.name("callee")
        json.plain(call.callee.text)
        json.name("group")
        json.null()
        json.name("hasVideo")
        json.value(call.hasVideo)
        json.name("state")
        json.plain(state.rawValue)
        json.name("startedAt")
        json.value(call.startedAt.milliseconds)
        json.moment("ringingAt", ringing?.at)
        json.moment("answeredAt", stage >= 2 ? call.answeredAt : nil)
        json.moment("activeAt", stage >= 3 ? call.activeAt : nil)
        json.moment("endedAt", ending?.at)
        json.name("answeredBy")
        if stage >= 2, call.answeredAt != nil, let device = call.answeringDevice {
            json.participant(call.callee, device.id)
        } else {
            json.null()
        }
        json.name("reason")
        if let reason = ending?.reason { json.plain(reason.rawValue) } else { json.null() }
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
        json.name("data")
        json.null()
        json.endObject()
    }

    private func writeEnd(into json: inout JSONWriter) {
        json.name("reason")
        if let reason = ending?.reason { json.plain(reason.rawValue) } else { json.null() }
        json.name("by")
        if case .signal(_, let side, let device, _, _)? = call.log.last(where: { $0.isEnd })?.content {
            json.participant(side == .caller ? call.caller : call.callee, device.id)
        } else {
            json.null()
        }
        json.name("ringMilliseconds")
        json.value(((call.answeredAt ?? ending?.at).map { $0 - call.startedAt })?.milliseconds ?? 0)
        json.name("talkMilliseconds")
        let talk = call.activeAt.flatMap { start in ending.map { $0.at - start } }
        json.value(talk?.milliseconds ?? 0)
        json.name("verdict")
        if let verdict { json.array(verdict) { sentence, json in json.value(sentence) } } else { json.null() }
    }
}

extension JSONWriter {
    fileprivate mutating func moment(_ name: String, _ moment: Moment?) {
        self.name(name)
        if let moment { value(moment.milliseconds) } else { null() }
    }

    /// Writes a user and their device.
    fileprivate mutating func participant(_ user: UserID, _ device: DeviceID) {
        beginObject()
        name("user")
        plain(user.text)
        name("device")
        plain(device.text)
        endObject()
    }
}

extension [LogEntry] {
    /// The first signal by which a device of the callee said that it alerts its user.
    var firstRinging: LogEntry? {
        first { if case .signal(.ringing, _, _, _, _) = $0.content { true } else { false } }
    }
}

extension LogEntry {
    fileprivate var isEnd: Bool { if case .signal(.end, _, _, _, _) = content { true } else { false } }
}
