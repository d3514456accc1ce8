package import CallCore
package import CallPorts
import CallWire
import JSON

/// A call's timeline as JSON for its two users and for a service.
package enum TimelineView {
    /// Returns the timeline of a call as this client may see it; the events are shown in the given order.
    ///
    /// A service also gets the verdict that `ringline explain` prints. It may say why the call was hidden from a user, so
    /// the two users of the call do not get it. `devices`: the callee's registered devices.
    package static func body(
        _ record: CallRecord,
        _ events: [TimelineRecord],
        devices: [DeviceRecord],
        for principal: Principal,
        at now: Moment
    ) -> [UInt8] {
        let verdict: [String]? =
            principal.isService
            ? Explanation(record: record, events: events, log: [], devices: devices, at: now).sentences : nil
        return body(record, events.filter { isShown($0.event, of: record, to: principal) }, verdict: verdict)
    }

    /// Returns the timeline of an explained call with its ladder and its verdict, for a page of operators.
    package static func body(_ explanation: Explanation) -> [UInt8] {
        let events = explanation.events.map { TimelineRecord(at: $0.at, event: $0.event) }
        return body(explanation.record, events, verdict: explanation.sentences, ladderOf: explanation)
    }

    private static func body(
        _ record: CallRecord,
        _ events: [TimelineRecord],
        verdict: [String]?,
        ladderOf explanation: Explanation? = nil
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.beginObject()
        json.name("callId")
        json.plain(record.id.text)
        json.name("epoch")
        json.value(record.epoch)
        json.name("startedAt")
        json.value(record.startedAt.milliseconds)
        json.name("events")
        json.beginArray()
        for entry in events {
            json.beginObject()
            json.members(of: entry, begunAt: record.startedAt)
            json.endObject()
        }
        json.endArray()
        if let explanation { json.ladderMembers(of: explanation) }
        if let verdict { json.verdict(verdict) }
        json.endObject()
        return json.bytes
    }

    /// Returns the frame that reports an event of a call to a service that watches the call.
    package static func frame(_ entry: TimelineRecord, of call: WatchedCall) -> [UInt8] {
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

extension JSONWriter {
    /// Writes the sentences of a verdict as a member.
    mutating func verdict(_ sentences: [String]) {
        name("verdict")
        array(sentences) { sentence, json in json.value(sentence) }
    }

    /// Writes an event of a call that began at a moment as members.
    fileprivate mutating func members(of entry: TimelineRecord, begunAt start: Moment) {
        name("event")
        plain(entry.event.name)
        name("at")
        value(entry.at.milliseconds)
        name("offset")
        value((entry.at - start).milliseconds)
        details(of: entry.event)
    }

    /// Writes the details of an event as members.
    fileprivate mutating func details(of event: TimelineEvent) {
        if case .other(_, let details) = event { rawMembers(Array(details.utf8)[...]) }
        event.forEachDetail { name, detail in
            self.name(name)
            switch detail {
            case .word(let text): plain(text)
            case .text(let text): value(text)
            case .number(let number): value(number)
            }
        }
    }
}
