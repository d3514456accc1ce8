import CallCore
import CallPorts
import JSON

extension Explanation {
    /// The call's timeline with its ladder and its verdict as a JSON object, for a page of operators.
    package var body: [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.beginObject()
        json.timeline(of: record, events.map { TimelineRecord(at: $0.at, event: $0.event) })
        json.ladderMembers(of: self)
        json.verdict(sentences)
        json.endObject()
        return json.bytes
    }
}

/// The ladder of a call as JSON, for pages.
extension JSONWriter {
    /// Writes what a page needs to draw the ladder of a call as members.
    fileprivate mutating func ladderMembers(of call: Explanation) {
        let ladder = call.ladder
        name("call")
        value(call.who)
        name("outcome")
        value(call.briefOutcome)
        name("isOver")
        value(call.record.endedAt != nil)
        name("count")
        value(call.events.count)
        name("lanes")
        array(ladder.lanes) { lane, json in json.lane(lane) }
        name("rows")
        array(ladder.rows) { row, json in json.row(row) }
    }

    private mutating func lane(_ lane: Ladder.Lane) {
        beginObject()
        name("kind")
        plain(lane.kind.rawValue)
        name("name")
        value(lane.name)
        if let user = lane.user {
            name("user")
            plain(user.text)
        }
        endObject()
    }

    private mutating func row(_ row: Ladder.Row) {
        beginObject()
        name("time")
        plain(row.time)
        switch row.step {
        case .arrow(let from, let to, let arrives):
            name("from")
            value(from)
            name("to")
            value(to)
            name("arrives")
            value(arrives)
        case .note(let lane):
            name("at")
            value(lane)
        case .gap: break
        }
        name("label")
        value(row.label)
        name("look")
        plain(row.look.rawValue)
        endObject()
    }
}
