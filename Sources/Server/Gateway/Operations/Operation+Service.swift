import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Switchboard

extension Operation {
    /// The calls of all users, for the app's backend.
    static let service = [
        Operation(
            "GET",
            "/v1/calls",
            bearer: .backend,
            parameters: ["user", "state", "reason", "since", "before", "limit"]
        ) { content throws(WireError) in
            .calls(.list(try content.head.callFilter()))
        },
        Operation("GET", "/v1/calls/{callId}", bearer: .backend, parameters: ["user", "epoch"]) {
            content throws(WireError) in
            let id = try CallID(inRequest: content[.callID])
            return .calls(.record(id, of: try content.head.user("user"), epoch: try content.head.epoch()))
        },
        Operation("GET", "/v1/calls/{callId}/timeline", bearer: .backend, parameters: ["user", "epoch"]) {
            content throws(WireError) in
            let id = try CallID(inRequest: content[.callID])
            let user = try content.head.user("user")
            return .calls(.timeline(id, peer: user, epoch: try content.head.epoch()))
        },
    ]
}

extension RequestHead {
    fileprivate func callFilter() throws(WireError) -> Switchboard.CallFilter {
        var filter = Switchboard.CallFilter(user: try user("user"))
        if let state = parameter("state") {
            guard ["live", "ended"].contains(state) else { throw .invalid(named: "state", "must be live or ended") }
            filter.isLive = state == "live"
        }
        if let text = parameter("reason") {
            guard let reason = EndReason(rawValue: text) else {
                let known = EndReason.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalid(named: "reason", "must be one of \(known)")
            }
            filter.reason = reason
        }
        filter.since = try number("since", in: 0...Int64(1) << 53).map { Moment(milliseconds: $0) }
        filter.before = try number("before", in: 0...Int64.max).map { CallNumber(rawValue: $0) }
        let most = Int64(Switchboard.CallFilter.maximumCount)
        if let count = try number("limit", in: 1...most) { filter.count = Int(count) }
        return filter
    }
}
