import CallCore
import CallPorts
import CallWire
import JSON

/// A call's log as JSON, as a fetch shows it.
enum FetchView {
    /// Returns the signals as an array, in the form that older apps read.
    static func array(_ call: Call, _ entries: [Int], by who: Who) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.beginArray()
        for index in entries {
            let entry = call.session.log[index]
            guard case .signal(let kind, let side, let phone, let id, _) = entry.content,
                let object = RelayedObject(call.frames[index])
            else { continue }
            json.beginObject()
            json.name("action")
            json.plain(kind.rawValue)
            json.name("data")
            json.beginObject()
            json.rawMembers(object.ownMembers[...])
            json.endObject()
            json.name("from")
            json.id(call.user(on: side), asInteger: who.userIsInteger)
            json.name("fromDevice")
            json.plain(phone.id.text)
            if let id {
                json.name("id")
                json.value(id.text)
            }
            json.name("epoch")
            json.value(call.session.epoch)
            json.name("seq")
            json.value(entry.seq)
            json.name("ts")
            json.value(entry.at.milliseconds)
            json.endObject()
        }
        json.endArray()
        return json.bytes
    }

    /// Returns the whole call as one object.
    static func object(
        _ call: Call,
        shown: [Int],
        new: [Int],
        since: UInt64,
        side: Side,
        phone: Phone,
        by who: Who,
        iceServers: [UInt8]
    ) -> [UInt8] {
        let session = call.session
        let standing = session.standing(side: side, phone: phone)
        var json = JSONWriter(capacity: 8_192)
        json.beginObject()
        json.name("callId")
        json.plain(session.key.id.text)
        json.name("epoch")
        json.value(session.epoch)
        json.name("room")
        json.plain(call.room)
        json.name("state")
        json.plain(standing.state.rawValue)
        json.name("reason")
        if let reason = standing.reason { json.plain(reason.rawValue) } else { json.null() }
        if case .ended(let ending, _) = session.phase, let winner = ending.replacedBy {
            json.name("replacedBy")
            json.plain(winner.text)
        }
        json.name("callUUID")
        json.plain(call.uuid)
        json.name("offer")
        description(.offer, of: call, shown, by: who, into: &json)
        json.name("answer")
        description(.answer, of: call, shown, by: who, into: &json)
        json.name("candidates")
        json.beginArray()
        for index in shown {
            guard case .signal(.ice, _, _, _, _) = session.log[index].content,
                let candidate = RelayedObject(call.frames[index])?.value(of: .candidate)
            else { continue }
            json.raw(candidate)
        }
        json.endArray()
        json.name("signals")
        json.beginArray()
        for index in new { json.raw(call.frames[index].dropFirst(Frame.headroom)) }
        json.endArray()
        json.name("iceServers")
        json.raw(iceServers)
        json.name("ringUntil")
        json.value(session.ringUntil.milliseconds)
        json.name("next")
        json.value(max(since, new.last.map { session.log[$0].seq } ?? 0))
        json.endObject()
        return json.bytes
    }

    /// Writes the newest description of a kind among the entries, or null.
    private static func description(
        _ kind: SignalKind,
        of call: Call,
        _ entries: [Int],
        by who: Who,
        into json: inout JSONWriter
    ) {
        for index in entries.reversed() {
            guard case .signal(kind, let side, let phone, _, _) = call.session.log[index].content,
                let object = RelayedObject(call.frames[index]), let sdp = object.value(of: .sdp)
            else { continue }
            json.beginObject()
            json.name("sdp")
            json.raw(sdp)
            json.name("type")
            json.plain(kind.rawValue)
            json.name("from")
            json.id(call.user(on: side), asInteger: who.userIsInteger)
            json.name("fromDevice")
            json.plain(phone.id.text)
            if kind == .offer {
                json.name("hasVideo")
                json.raw(object.value(of: .hasVideo) ?? ArraySlice("false".utf8))
                json.name("displayName")
                json.raw(object.value(of: .displayName) ?? ArraySlice("null".utf8))
            }
            json.endObject()
            return
        }
        json.null()
    }
}
