import CallCore
import CallPorts
import JSON

/// The member `data` of an event of a call (protocol, section 13.2).
///
/// It shows the call as it was at the event, even if the same commit has later events of the call.
struct CallEventData {
    let type: AppEventType
    let number: UInt32
    let scheduled: ScheduledRing?
    /// The first signal by which a device of the callee said that it alerts its user; `nil` = none has.
    let ringing: LogEntry?
    /// Why nobody can be rung any more, or the callee has missed the call.
    var why: String?
    /// Why the call rang or did not, in sentences.
    var verdict: [String]?

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

    /// Returns when the event happened, `now` if the call does not know, and the JSON object.
    ///
    /// Takes the session as `inout`, because it would be copied otherwise.
    func content(of call: inout CallSession, at now: Moment) -> (at: Moment, bytes: [UInt8]) {
        let ending: CallSession.Ending? =
            if stage >= 4, case .ended(let ending, _) = call.phase { ending } else { nil }
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.part(Parts.number)
        json.digits(UInt64(number))
        write(&call, ending, into: &json)
        switch type {
        case .callRinging:
            if case .signal(_, _, let device, _, _)? = ringing?.content {
                json.text(Parts.device, device.id.text)
            } else {
                json.part(Parts.noDevice)
            }
        case .callUnreachable, .callMissed: if let why { json.text(Parts.why, why) } else { json.part(Parts.noWhy) }
        case .callEnded: writeEnd(of: &call, ending, into: &json)
        default: break
        }
        json.endObject()
        return (moment(of: &call, ending) ?? now, json.bytes)
    }

    private func moment(of call: inout CallSession, _ ending: CallSession.Ending?) -> Moment? {
        switch type {
        case .callStarted: call.startedAt
        case .callRinging: ringing?.at
        case .callAnswered: call.answeredAt
        case .callActive: call.activeAt
        case .callEnded, .callMissed: ending?.at
        default: nil
        }
    }

    private func write(_ call: inout CallSession, _ ending: CallSession.Ending?, into json: inout JSONWriter) {
        json.text(Parts.callID, call.key.id.text)
        json.part(Parts.epoch)
        json.digits(UInt64(call.epoch))
        json.text(Parts.caller, call.caller.text)
        json.text(Parts.callee, call.callee.text)
        json.text(call.hasVideo ? Parts.stateOfVideo : Parts.stateOfAudio, state.rawValue)
        json.number(Parts.startedAt, call.startedAt.milliseconds)
        json.moment(Parts.ringingAt, Parts.notRinging, stage >= 1 ? ringing?.at : nil)
        json.moment(Parts.answeredAt, Parts.notAnswered, stage >= 2 ? call.answeredAt : nil)
        json.moment(Parts.activeAt, Parts.notActive, stage >= 3 ? call.activeAt : nil)
        json.moment(Parts.endedAt, Parts.notEnded, ending?.at)
        if stage >= 2, call.answeredAt != nil, let device = call.answeringDevice {
            json.participant(Parts.answeredBy, call.callee, device.id)
        } else {
            json.part(Parts.answeredByNobody)
        }
        json.reason(ending?.reason)
        if let scheduled {
            json.text(Parts.schedule, scheduled.schedule.text)
            json.number(Parts.occurrence, scheduled.occurrence.milliseconds)
            json.number(Parts.ring, Int64(scheduled.ring))
            json.part(Parts.objectEnd)
        }
        json.part(Parts.callEnd)
    }

    private func writeEnd(of call: inout CallSession, _ ending: CallSession.Ending?, into json: inout JSONWriter) {
        json.reason(ending?.reason)
        if case .signal(_, let side, let device, _, _)? = call.log.last(where: { $0.isEnd })?.content {
            json.participant(Parts.by, side == .caller ? call.caller : call.callee, device.id)
        } else {
            json.part(Parts.byNobody)
        }
        let rang = ((call.answeredAt ?? ending?.at).map { $0 - call.startedAt })?.milliseconds
        json.number(Parts.ringMilliseconds, rang ?? 0)
        let talk = call.activeAt.flatMap { start in ending.map { $0.at - start } }
        json.number(Parts.talkMilliseconds, talk?.milliseconds ?? 0)
        json.name("verdict")
        if let verdict { json.array(verdict) { sentence, json in json.value(sentence) } } else { json.null() }
    }

    /// The names and the punctuation between the values: one append of it costs a third of a name and its punctuation.
    fileprivate enum Parts {
        static let number = bytes(#""n":"#)
        static let callID = bytes(#","call":{"callId":""#)
        static let epoch = bytes(#","epoch":"#)
        static let caller = bytes(#","caller":""#)
        static let callee = bytes(#","callee":""#)
        static let stateOfVideo = bytes(#","group":null,"hasVideo":true,"state":""#)
        static let stateOfAudio = bytes(#","group":null,"hasVideo":false,"state":""#)
        static let startedAt = bytes(#","startedAt":"#)
        static let ringingAt = bytes(#","ringingAt":"#)
        static let notRinging = bytes(#","ringingAt":null"#)
        static let answeredAt = bytes(#","answeredAt":"#)
        static let notAnswered = bytes(#","answeredAt":null"#)
        static let activeAt = bytes(#","activeAt":"#)
        static let notActive = bytes(#","activeAt":null"#)
        static let endedAt = bytes(#","endedAt":"#)
        static let notEnded = bytes(#","endedAt":null"#)
        static let answeredBy = bytes(#","answeredBy":{"user":""#)
        static let answeredByNobody = bytes(#","answeredBy":null"#)
        static let participantDevice = bytes(#","device":""#)
        static let reason = bytes(#","reason":""#)
        static let noReason = bytes(#","reason":null"#)
        static let schedule = bytes(#","scheduled":{"schedule":""#)
        static let occurrence = bytes(#","occurrence":"#)
        static let ring = bytes(#","ring":"#)
        static let objectEnd = bytes("}")
        static let callEnd = bytes(#","data":null}"#)
        static let device = bytes(#","device":""#)
        static let noDevice = bytes(#","device":null"#)
        static let why = bytes(#","why":""#)
        static let noWhy = bytes(#","why":null"#)
        static let by = bytes(#","by":{"user":""#)
        static let byNobody = bytes(#","by":null"#)
        static let ringMilliseconds = bytes(#","ringMilliseconds":"#)
        static let talkMilliseconds = bytes(#","talkMilliseconds":"#)

        private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    }
}

extension JSONWriter {
    /// Writes a string that needs no escape, behind its name and punctuation up to the first quote.
    fileprivate mutating func text(_ name: [UInt8], _ text: String) {
        part(name)
        plainPart(text)
        endString()
    }

    /// Writes a whole number behind its name and punctuation.
    fileprivate mutating func number(_ name: [UInt8], _ number: Int64) {
        part(name)
        if number < 0 { plainPart("-") }
        digits(number.magnitude)
        endNumber()
    }

    /// Writes a moment behind its name and punctuation; `none` if there is no moment.
    fileprivate mutating func moment(_ name: [UInt8], _ none: [UInt8], _ moment: Moment?) {
        if let moment { number(name, moment.milliseconds) } else { part(none) }
    }

    /// Writes why the call ended; `nil` = it has not.
    fileprivate mutating func reason(_ reason: EndReason?) {
        if let reason { text(CallEventData.Parts.reason, reason.rawValue) } else { part(CallEventData.Parts.noReason) }
    }

    /// Writes a user and their device, behind the beginning of the object.
    fileprivate mutating func participant(_ beginning: [UInt8], _ user: UserID, _ device: DeviceID) {
        text(beginning, user.text)
        text(CallEventData.Parts.participantDevice, device.text)
        part(CallEventData.Parts.objectEnd)
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
