import CallCore
import CallPorts
import JSON
import OutboundHTTP

/// Google's response to one message: an error's body is `{"error":{"status":…,"details":[…]}}`.
///
/// Source: "FcmError" and "ErrorCode", Firebase Cloud Messaging HTTP v1 API; "Status", Google API client libraries.
enum FirebaseResponse {
    /// Returns the result to report for a response that came at `now`.
    static func result(of response: HTTPResponse, at now: Moment, wall: Int64) -> PushResult {
        guard response.status != 200 else { return .response(status: 200, reason: nil, timestamp: nil) }
        let reason = reason(in: response.body, status: response.status)
        guard let until = PushResponse.retryAt(response, at: now, wall: wall) else {
            return .response(status: response.status, reason: reason, timestamp: nil)
        }
        return .deferred(status: response.status, reason: reason, until: until)
    }

    /// Returns the reason in an error's body; `nil` if the body is not Google's.
    private static func reason(in body: [UInt8], status: Int) -> String? {
        guard let member = PushResponse.object(body)?.member(named: "error"),
            let error = PushResponse.object(body, member.value)
        else { return nil }
        // Google describes a malformed token in words, and not always by a field violation.
        if status == 400, error.text("message")?.contains("registration token") == true {
            return FirebaseReason.invalidToken
        }
        var code: String?
        for detail in details(of: error) {
            if status == 400, namesToken(detail) { return FirebaseReason.invalidToken }
            code = code ?? detail.text("errorCode")
        }
        return (code ?? error.text("status")).flatMap(PushResponse.word)
    }

    private static func details(of error: JSONObject) -> [JSONObject] {
        guard let member = error.member(named: "details"), let array = error.array(member) else { return [] }
        return array.elements.compactMap { PushResponse.object(error.bytes, $0.value) }
    }

    /// Returns whether a detail says that the message's token is at fault.
    private static func namesToken(_ detail: JSONObject) -> Bool {
        guard let member = detail.member(named: "fieldViolations"), let array = detail.array(member) else {
            return false
        }
        return array.elements.contains { PushResponse.object(detail.bytes, $0.value)?.text("field") == "message.token" }
    }
}
