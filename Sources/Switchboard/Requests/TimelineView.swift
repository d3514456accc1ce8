import CallCore
import CallPorts
import CallWire
import JSON

/// A call's timeline as JSON for its two users and for a service.
enum TimelineView {
    /// The events that the caller must not see: they would reveal blocks, do-not-disturb and the callee's devices.
    private static let hiddenFromCaller: Set<String> = [
        "blocked", "dnd", "name_taken", "no_device", "fetched", "delivered.socket", "probe", "probe.failed",
        "push.sent",
        "push.result",
        "push.cancelled", "logged_out", "repeated", "omitted", "crowded", "ring.refused",
    ]
    private static let hiddenFromCallee: Set<String> = ["blocked", "name_taken", "logged_out"]

    static func body(_ record: CallRecord, _ events: [TimelineRecord], for who: Who) -> [UInt8] {
        let hidden: Set<String> =
            who.isService ? [] : record.caller == who.user ? hiddenFromCaller : hiddenFromCallee
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
        for event in events where !hidden.contains(event.event) {
            json.beginObject()
            json.name("event")
            json.plain(event.event)
            json.name("at")
            json.value(event.at.milliseconds)
            json.name("offset")
            json.value((event.at - record.startedAt).milliseconds)
            json.rawMembers(Array(event.details.utf8)[...])
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return json.bytes
    }
}
