import CallCore
import CallPorts
import CallWire
import JSON

/// Calls as JSON, as the history shows them.
enum CallView {
    /// Returns a user's calls, newest first.
    static func history(_ records: [CallRecord], for who: Who) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.beginArray()
        for record in records { write(record, for: who, into: &json) }
        json.endArray()
        return json.bytes
    }

    /// Returns one call as the history shows it.
    static func one(_ record: CallRecord, for who: Who) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        write(record, for: who, into: &json)
        return json.bytes
    }

    /// Returns one call with its legs.
    static func details(_ record: CallRecord, for who: Who) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        write(record, for: who, withLegs: true, into: &json)
        return json.bytes
    }

    private static func write(
        _ record: CallRecord,
        for who: Who,
        withLegs: Bool = false,
        into json: inout JSONWriter
    ) {
        json.beginObject()
        json.name("id")
        json.value(record.number.rawValue)
        json.name("callId")
        json.plain(record.id.text)
        json.name("epoch")
        json.value(record.epoch)
        json.name("room")
        json.plain(record.room)
        json.name("caller_id")
        json.id(record.caller, asInteger: who.userIsInteger)
        json.name("callee_id")
        json.id(record.callee, asInteger: who.userIsInteger)
        json.name("call_type")
        json.plain(record.hasVideo ? "video" : "audio")
        json.name("hasVideo")
        json.value(record.hasVideo)
        json.name("state")
        json.plain(record.state.rawValue)
        json.name("reason")
        if let reason = record.reason { json.plain(reason.rawValue) } else { json.null() }
        json.name("direction")
        json.plain(record.caller == who.user ? "outgoing" : record.answeredAt == nil ? "missed" : "incoming")
        json.name("started_at")
        json.plain(Timestamp.text(record.startedAt))
        json.name("duration")
        json.value(record.talkSeconds)
        json.optional("startedAt", record.startedAt)
        json.optional("answeredAt", record.answeredAt)
        json.optional("activeAt", record.activeAt)
        json.optional("endedAt", record.endedAt)
        json.name("ringMilliseconds")
        json.value(((record.answeredAt ?? record.endedAt).map { $0 - record.startedAt })?.milliseconds ?? 0)
        if withLegs { legs(record, for: who, into: &json) }
        json.endObject()
    }

    /// Writes the legs that the client may see.
    ///
    /// The caller sees no device of the callee, because that would reveal a block.
    private static func legs(_ record: CallRecord, for who: Who, into json: inout JSONWriter) {
        json.name("legs")
        json.beginArray()
        for leg in record.legs where leg.side == .caller || who.isService || record.callee == who.user {
            json.beginObject()
            json.name("side")
            json.plain(leg.side.rawValue)
            json.name("user")
            json.plain((leg.side == .caller ? record.caller : record.callee).text)
            json.name("device")
            json.plain(leg.phone.id.text)
            json.name("state")
            json.plain((leg.phase == .untold ? Leg.Phase.left : leg.phase).rawValue)
            json.endObject()
        }
        json.endArray()
    }
}

extension CallRecord {
    /// How long the two users talked, in whole seconds.
    fileprivate var talkSeconds: Int64 {
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
