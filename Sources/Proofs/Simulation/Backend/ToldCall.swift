import CallCore
import CallPorts
import CallWire
import JSON

/// A call as the durable changes tell of it, and its durable events.
struct ToldCall {
    private(set) var record: CallRecord?
    /// Whether its log has a `ringing`.
    var hasRung = false
    private(set) var events: [StoredEvent] = []
    /// The number of events that were checked.
    private var checked = 0
    /// Whether it still rang before the last change of its record.
    private var rangBefore = true
    private var stage = 0
    /// What was wrong with an event when it came.
    private(set) var fault: (invariant: String, message: String)?

    /// The types of events that follow from the durable record and log.
    static let decided: [AppEventType] = [
        .callStarted, .callRinging, .callAnswered, .callActive, .callEnded, .callMissed,
    ]

    mutating func take(_ record: CallRecord) {
        rangBefore = self.record.map { $0.answeredAt == nil && $0.endedAt == nil } ?? true
        self.record = record
    }

    mutating func add(_ event: StoredEvent) {
        if has(event.type) {
            fault = ("I25", "\(event.id) is the second \(event.type.rawValue) of its call")
        } else if Int(event.number) != events.count + 1 {
            fault = ("I24", "\(event.id) is number \(event.number) of its call, after \(events.count)")
        }
        events.append(event)
    }

    func has(_ type: AppEventType) -> Bool { events.contains { $0.type == type } }

    /// Whether the record and the log say what an event of the type reports.
    func isDecided(_ type: AppEventType) -> Bool {
        guard let record else { return false }
        switch type {
        case .callStarted: return true
        case .callRinging: return hasRung
        case .callAnswered: return record.answeredAt != nil
        case .callActive: return record.activeAt != nil
        case .callEnded: return record.endedAt != nil
        case .callMissed:
            guard record.endedAt != nil, record.answeredAt == nil, record.scheduled == nil,
                record.hidden != .callIDTaken, record.hidden != .app, let reason = record.reason
            else { return false }
            return [.unanswered, .cancelled, .busy].contains(reason)
        default: return false
        }
    }

    // MARK: The content of events

    /// Checks the events that have come since the last time, against the record of the same commit; returns what is
    /// wrong.
    mutating func checkNewEvents() -> (invariant: String, message: String)? {
        defer { checked = events.count }
        for event in events[checked...] {
            if let message = check(event) { return ("I26", "\(event.id), \(event.type.rawValue): \(message)") }
            if event.type == .callUnreachable, !rangBefore {
                return ("I22", "\(event.id) says that nobody can be rung, and the call rings no more")
            }
        }
        return nil
    }

    private static let members = [
        "callId", "epoch", "caller", "callee", "group", "hasVideo", "state", "startedAt", "ringingAt", "answeredAt",
        "activeAt", "endedAt", "answeredBy", "reason", "data",
    ]
    private static let stages: [AppEventType: Int] = [
        .callStarted: 0, .callRinging: 1, .callUnreachable: 1, .callAnswered: 2, .callActive: 3, .callEnded: 4,
        .callMissed: 4,
    ]

    private mutating func check(_ event: StoredEvent) -> String? {
        guard let record, let data = MessageReader.object(event.data) else { return "data is no object" }
        guard let call = data.inner(of: Key("call")) else { return "it has no call" }
        let shown = Self.members(of: call)
        for member in Self.members where shown[member] == nil { return "call has no \(member)" }
        if data.number(of: Key("n")) != Int64(event.number) { return "n is not \(event.number)" }
        guard let stage = Self.stages[event.type] else { return "calls have no such event" }
        if stage < self.stage { return "the state goes back" }
        self.stage = stage
        let states = ["ringing", "ringing", "answered", "active", "ended"]
        let expected: [(name: String, value: String)] = [
            ("callId", "\"\(record.id.text)\""), ("epoch", String(record.epoch)),
            ("caller", "\"\(record.caller.text)\""), ("callee", "\"\(record.callee.text)\""),
            ("hasVideo", String(record.hasVideo)), ("state", "\"\(states[stage])\""),
            ("startedAt", String(record.startedAt.milliseconds)),
            ("answeredAt", Self.text(stage >= 2 ? record.answeredAt : nil)),
            ("activeAt", Self.text(stage >= 3 ? record.activeAt : nil)),
            ("endedAt", Self.text(stage >= 4 ? record.endedAt : nil)),
            ("reason", stage >= 4 ? record.reason.map { "\"\($0.rawValue)\"" } ?? "null" : "null"),
        ]
        for (name, value) in expected where shown[name] != value {
            return "\(name) is \(shown[name] ?? "missing"), not \(value)"
        }
        let hasRung = shown["ringingAt"] != "null"
        if hasRung != (stage >= 1 && self.hasRung) { return "ringingAt is \(shown["ringingAt"] ?? "missing")" }
        if stage >= 2, record.answeredAt != nil, call.inner(of: Key("answeredBy")) == nil {
            return "nobody answered it"
        }
        return nil
    }

    /// Returns the text of each member; that of one without a value is `null`.
    private static func members(of object: JSONObject) -> [String: String] {
        var members: [String: String] = [:]
        for member in object.members {
            guard let name = object.name(of: member) else { continue }
            members[name] = String(decoding: object.bytes[member.value], as: UTF8.self)
        }
        return members
    }

    private static func text(_ moment: Moment?) -> String { moment.map { String($0.milliseconds) } ?? "null" }
}
