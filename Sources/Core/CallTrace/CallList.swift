import CallCore
import CallPorts
import JSON

/// Calls as JSON for an operator, each with its verdict.
package enum CallList {
    /// Returns explained calls as an array, in this order.
    ///
    /// The displayed name is a text that the caller chose. All other texts are ids, or words of the server.
    package static func body(_ calls: [Explanation]) -> [UInt8] {
        var json = JSONWriter(capacity: 4_096)
        json.array(calls) { call, json in json.call(call) }
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func call(_ explanation: Explanation) {
        let call = explanation.record
        beginObject()
        name("id")
        value(call.number.rawValue)
        name("callId")
        plain(call.id.text)
        name("epoch")
        value(call.epoch)
        name("caller")
        plain(call.caller.text)
        if let text = call.displayName {
            name("displayName")
            value(text)
        }
        name("callee")
        plain(call.callee.text)
        name("hasVideo")
        value(call.hasVideo)
        name("startedAt")
        value(call.startedAt.milliseconds)
        name("state")
        plain(call.state.rawValue)
        if let reason = call.reason {
            name("reason")
            plain(reason.rawValue)
        }
        name("outcome")
        plain(explanation.briefOutcome)
        verdict(explanation.sentences)
        endObject()
    }
}
