import CallCore
import CallPorts
import CallWire
import JSON

/// A call's timeline, in the form in which its two users and services receive it.
enum TimelineView {
    /// Returns the timeline of a call as this client may see it; the events are shown in the given order.
    ///
    /// `verdict`: the sentences of a verdict on the call, for a service only; `nil` = there is none.
    static func body(
        _ record: CallRecord,
        _ events: [TimelineRecord],
        verdict: [String]?,
        for principal: Principal
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.beginObject()
        json.timeline(of: record, events.filter { isShown($0.event, of: record, to: principal) })
        if let verdict { json.verdict(verdict) }
        json.endObject()
        return json.bytes
    }

    /// Returns the frame that reports an event of a call to a service that watches the call.
    static func frame(_ entry: TimelineRecord, of call: WatchedCall) -> [UInt8] {
        ServerFrame.timeline(of: call.id, epoch: call.epoch, caller: call.caller, callee: call.callee) { json in
            json.members(of: entry, begunAt: call.startedAt)
        }
    }

    private static func isShown(_ event: TimelineEvent, of call: CallRecord, to principal: Principal) -> Bool {
        guard !principal.isService else { return true }
        return switch event.audience {
        case .operators: false
        case .callee: call.caller != principal.user
        case .both: true
        }
    }
}
