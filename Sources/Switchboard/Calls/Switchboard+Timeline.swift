import CallCore
public import CallPorts
import CallWire
import JSON

/// The timeline of a call: everything that helps to explain why a device did not ring, and nothing else.
extension Switchboard {
    /// Adds an event to a call's timeline.
    func note(
        _ call: Call,
        _ event: String,
        device: DeviceID? = nil,
        reason: EndReason? = nil,
        _ more: (inout JSONWriter) -> Void = { _ in },
        at now: Moment
    ) {
        for again in call.timeline.enter(call.session.state) {
            write("repeated", to: call, at: now) { json in
                json.name("device")
                json.plain(again.device.text)
                json.name("of")
                json.plain(again.event)
                json.name("count")
                json.value(again.count)
            }
        }
        let isLast = event == "ended"
        guard isLast || call.timeline.admits(event, device) else {
            metrics.limited[.timeline] += 1
            return
        }
        if isLast { tellOmitted(of: call, at: now) }
        write(event, to: call, isCounted: !isLast, at: now) { json in
            if let device {
                json.name("device")
                json.plain(device.text)
            }
            if let reason {
                json.name("reason")
                json.plain(reason.rawValue)
            }
            more(&json)
        }
    }

    private func write(
        _ event: String,
        to call: Call,
        isCounted: Bool = false,
        at now: Moment,
        _ members: (inout JSONWriter) -> Void
    ) {
        if !isCounted { call.timeline.wrote() }
        var json = JSONWriter()
        json.beginObject()
        members(&json)
        json.endObject()
        let details = String(decoding: json.bytes.dropFirst().dropLast(), as: UTF8.self)
        changes.append(.event(call.number, TimelineRecord(at: now, event: event, details: details)))
        countKeptEvent(event.utf8.count + details.utf8.count, of: call, at: now)
    }

    /// Records how many events a full timeline has omitted.
    private func tellOmitted(of call: Call, _ more: Int = 0, at now: Moment) {
        let count = call.timeline.takeOmitted() + more
        guard count > 0 else { return }
        write("omitted", to: call, at: now) { json in
            json.name("count")
            json.value(count)
        }
    }

    /// Moves the log of a call that can no longer be fetched into its timeline, as far as there is room.
    func keepSignals(of call: Call, at now: Moment) {
        let signals = call.session.log.compactMap(Self.event)
        let room = max(0, TimelineBound.events - 1 - call.timeline.count)
        for event in signals.prefix(room) { changes.append(.event(call.number, event)) }
        tellOmitted(of: call, signals.count - min(room, signals.count), at: now)
    }

    /// Returns the timeline event of a log entry; `nil` for a change of state, whose cause has an event of its own.
    static func event(for entry: LogEntry) -> TimelineRecord? {
        guard case .signal(let kind, let side, let phone, _, _) = entry.content else { return nil }
        return TimelineRecord(signal: kind, from: side, phone, seq: entry.seq, at: entry.at)
    }
}

extension TimelineRecord {
    /// The event of a signal.
    fileprivate init(signal kind: SignalKind, from side: Side, _ phone: Phone, seq: UInt64, at moment: Moment) {
        self.init(
            at: moment,
            event: kind == .offer ? "offer" : "signal.\(kind.rawValue)",
            details: #""side":"\#(side.rawValue)","device":"\#(phone.id.text)","seq":\#(seq)"#
        )
    }

    /// The timeline event of a stored log entry; `nil` for a change of state.
    public init?(_ record: EntryRecord) {
        guard let entry = LogEntry(record), let event = Switchboard.event(for: entry) else { return nil }
        self = event
    }
}
