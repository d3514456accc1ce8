package import CallCore
package import JSON

/// Timelines as JSON: on the wire (protocol, section 5.7), on the pages of operators, and in a database.
extension JSONWriter {
    /// Writes what names a call, and its events in the given order, as members.
    package mutating func timeline(of call: CallRecord, _ events: [TimelineRecord]) {
        name("callId")
        plain(call.id.text)
        name("epoch")
        value(call.epoch)
        name("startedAt")
        value(call.startedAt.milliseconds)
        name("events")
        array(events) { entry, json in
            json.beginObject()
            json.members(of: entry, begunAt: call.startedAt)
            json.endObject()
        }
    }

    /// Writes an event of a call that began at a moment as members.
    package mutating func members(of entry: TimelineRecord, begunAt start: Moment) {
        name("event")
        plain(entry.event.name)
        name("at")
        value(entry.at.milliseconds)
        name("offset")
        value((entry.at - start).milliseconds)
        details(of: entry.event)
    }

    /// Writes the details of an event as members; those of an event of another version as they were read.
    package mutating func details(of event: TimelineEvent) {
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

    /// Writes the sentences of a verdict as a member.
    package mutating func verdict(_ sentences: [String]) {
        name("verdict")
        array(sentences) { sentence, json in json.value(sentence) }
    }
}
