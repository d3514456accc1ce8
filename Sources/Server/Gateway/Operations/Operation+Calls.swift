import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Switchboard

extension Operation {
    /// The history, a call that has just begun, single calls and timelines.
    static let calls = [
        Operation("GET", "/api/calls", bearer: .user, parameters: ["limit", "before"]) { content throws(WireError) in
            let limit = Int(try content.head.number("limit", in: 1...500) ?? 50)
            let before = try content.head.number("before", in: 0...Int64.max).map { CallNumber(rawValue: $0) }
            return .calls(.history(limit: limit, before: before))
        },
        Operation("POST", "/api/calls", bearer: .user, body: .json) { content throws(WireError) in
            .calls(.justBegun(with: try RequestBody.callee(in: content.body)))
        },
        Operation("GET", "/api/calls/{callId}") { content throws(WireError) in
            let id = try CallID(inRequest: content[.callID])
            return .calls(.one(id, peer: try content.head.peer(), epoch: try content.head.epoch()))
        },
        Operation("GET", "/api/calls/{callId}/timeline") { content throws(WireError) in
            let id = try CallID(inRequest: content[.callID])
            return .calls(.timeline(id, peer: try content.head.peer(), epoch: try content.head.epoch()))
        },
    ]
}
