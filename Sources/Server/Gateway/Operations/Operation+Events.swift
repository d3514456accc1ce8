import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Switchboard

extension Operation {
    /// The events of calls, for the app's backend.
    static let events = [
        Operation("GET", "/v1/events", bearer: .backend, parameters: ["after", "types", "call", "limit", "wait"]) {
            content throws(WireError) in
            .feed(try content.head.feedRead())
        }
    ]
}

extension RequestHead {
    fileprivate func feedRead() throws(WireError) -> Switchboard.FeedRead {
        var feed = Switchboard.FeedRead()
        if let text = parameter("after") {
            guard let cursor = EventCursor(text) else {
                throw .invalid(named: "after", "must be a cursor that this server gave")
            }
            feed.after = cursor
        }
        if let text = parameter("types") { feed.types = try Self.types(text) }
        if let text = parameter("call") {
            guard let id = CallID(text) else {
                throw .invalid(named: "call", "must be \(CallCore.Limits.identifierForm)")
            }
            feed.callID = id
        }
        let most = Int64(Switchboard.FeedRead.maximumCount)
        feed.count = Int(try number("limit", in: 1...most) ?? most)
        feed.wait = .seconds(try number("wait", in: 0...30) ?? 0)
        return feed
    }

    private static func types(_ text: String) throws(WireError) -> Set<AppEventType> {
        do throws(AppEventType.UnknownPattern) { return try AppEventType.matching(text) } catch {
            let shown = WireError.mayShow(error.pattern.filter { $0 != "." && $0 != "*" }) ? ": \(error.pattern)" : ""
            throw .invalid(named: "types", "unknown type\(shown)")
        }
    }
}
