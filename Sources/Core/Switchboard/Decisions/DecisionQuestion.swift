import CallCore
import JSON

/// A question to the app's backend (protocol, section 14).
enum DecisionQuestion {
    /// Returns a question as JSON; `claims` are the members that `--decide-claims` names, as the token has them.
    static func body(_ question: CallDecisions.Question, hasVideo: Bool, claims: [UInt8]) -> [UInt8] {
        var json = JSONWriter(capacity: 192 + claims.count)
        json.beginObject()
        json.name("caller")
        json.plain(question.caller.text)
        json.name("to")
        json.beginArray()
        json.plain(question.callee.text)
        json.endArray()
        json.name("callId")
        json.plain(question.callID.text)
        json.name("hasVideo")
        json.value(hasVideo)
        json.name("token")
        json.beginObject()
        if !claims.isEmpty { json.rawMembers(claims[...]) }
        json.endObject()
        json.endObject()
        return json.bytes
    }
}
