import CallCore
import CallWire

/// What a call's timeline tells: everything that helps to say why a phone did not ring, and no more.
extension Switchboard {
    /// Writes an event into a call's timeline.
    func note(
        _ call: Call,
        _ event: String,
        device: DeviceID? = nil,
        reason: EndReason? = nil,
        _ more: (inout JSONWriter) -> Void = { _ in },
        at now: Moment
    ) {
        var json = JSONWriter()
        json.beginObject()
        if let device {
            json.name("device")
            json.plain(device.text)
        }
        if let reason {
            json.name("reason")
            json.plain(reason.rawValue)
        }
        more(&json)
        json.endObject()
        let details = String(decoding: json.bytes.dropFirst().dropLast(), as: UTF8.self)
        changes.append(.event(call.number, TimelineRecord(at: now, event: event, details: details)))
    }

    /// What a log entry adds to the timeline; changes of state are told by their causes.
    static func event(for entry: LogEntry) -> TimelineRecord? {
        guard case .signal(let kind, let side, let phone, _, _) = entry.content else { return nil }
        return TimelineRecord(signal: kind, from: side, phone, seq: entry.seq, at: entry.at)
    }
}

extension TimelineRecord {
    /// A signal, as the timeline tells it.
    fileprivate init(signal kind: SignalKind, from side: Side, _ phone: Phone, seq: UInt64, at moment: Moment) {
        self.init(
            at: moment,
            event: kind == .offer ? "offer" : "signal.\(kind.rawValue)",
            details: #""side":"\#(side.rawValue)","device":"\#(phone.id.text)","seq":\#(seq)"#
        )
    }

    /// What a kept log entry adds to the timeline; `nil` for a change of state.
    public init?(_ record: EntryRecord) {
        guard let entry = LogEntry(record), let event = Switchboard.event(for: entry) else { return nil }
        self = event
    }
}
