import CallCore
import CallPorts
import CallWire
import LibWebSockets
import Switchboard

extension Operation {
    /// A call's signals: posted, fetched, and the call ended.
    static let signals = [
        Operation("GET", "/api/calls/signal", read: fetch),
        Operation("POST", "/api/calls/signal", body: .json, read: signal),
        Operation("GET", "/api/calls/signal/{callId}", read: fetch),
        Operation("POST", "/api/calls/signal/{callId}", body: .json, read: signal),
        Operation("DELETE", "/api/calls/signal/{callId}") { content throws(WireError) in
            let id = try CallID(inRequest: content[.callID])
            return .end(id, peer: try content.head.peer(), device: try content.head.device())
        },
    ]

    @Sendable
    private static func fetch(_ content: Content) throws(WireError) -> Switchboard.Request {
        guard let text = content.part(.callID) ?? content.head.parameter("callId") else {
            throw .invalid(.callId, "missing")
        }
        return .fetch(try CallID(inRequest: text), try content.head.fetch())
    }

    @Sendable
    private static func signal(_ content: Content) throws(WireError) -> Switchboard.Request {
        var message = try SignalMessage(
            body: content.body,
            callIDInPath: try content.part(.callID).map { text throws(WireError) in try CallID(inRequest: text) },
            idempotencyKey: content.head.idempotencyKey,
            ringTimeout: content.ringTimeout
        )
        let device = try content.head.device()
        message.device = message.device ?? device
        return .signal(message)
    }
}

extension RequestHead {
    fileprivate func fetch() throws(WireError) -> Switchboard.Fetch {
        var fetch = Switchboard.Fetch(peer: try peer(), device: try device())
        let epoch = try epoch()
        if let seq = try number("since", in: 0...Int64.max) { fetch.since = .init(epoch: epoch, seq: UInt64(seq)) }
        if let text = parameter("wait") {
            guard let seconds = Double(text), seconds.isFinite, seconds >= 0 else {
                throw WireError(.invalidField, "wait: must be seconds from 0 to 30", field: "wait")
            }
            fetch.wait = .milliseconds(Int64(min(seconds, 3_600) * 1_000))
        }
        switch parameter("format") {
        case nil, "object": break
        case "array": fetch.isArray = true
        default: throw WireError(.invalidField, "format: must be array or object", field: "format")
        }
        return fetch
    }
}
