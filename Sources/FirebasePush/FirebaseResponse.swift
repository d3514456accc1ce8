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
        guard let until = retryAt(response, at: now, wall: wall) else {
            return .response(status: response.status, reason: reason, timestamp: nil)
        }
        return .deferred(status: response.status, reason: reason, until: until)
    }

    /// Returns the moment before which the request must not be repeated; `nil` = the response names none, or the
    /// request must not be repeated at all.
    ///
    /// `wall`: The wall clock, in milliseconds since 1970, for a date (RFC 9110, section 10.2.3).
    static func retryAt(_ response: HTTPResponse, at now: Moment, wall: Int64) -> Moment? {
        guard isPassing(response.status), let text = response.header("retry-after") else { return nil }
        let seconds = Int64(text) ?? HTTPDate.seconds(text).map { $0 - wall / 1_000 }
        return seconds.map { now + .seconds(min(max(0, $0), 86_400)) }
    }

    /// Whether a status is one of a fault that passes.
    static func isPassing(_ status: Int) -> Bool { status == 429 || (500...599).contains(status) }

    /// Returns the reason in an error's body; `nil` if the body is not Google's.
    private static func reason(in body: [UInt8], status: Int) -> String? {
        guard let member = object(body, 0..<body.count)?.member(named: "error"), let error = object(body, member.value)
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
        return (code ?? error.text("status")).flatMap(word)
    }

    private static func details(of error: JSONObject) -> [JSONObject] {
        guard let member = error.member(named: "details"), let array = error.array(member) else { return [] }
        return array.elements.compactMap { object(error.bytes, $0.value) }
    }

    /// Returns whether a detail says that the message's token is at fault.
    private static func namesToken(_ detail: JSONObject) -> Bool {
        guard let member = detail.member(named: "fieldViolations"), let array = detail.array(member) else {
            return false
        }
        return array.elements.contains { object(detail.bytes, $0.value)?.text("field") == "message.token" }
    }

    /// Returns the object in a part of a text; `nil` if it is another value.
    static func object(_ bytes: [UInt8], _ part: Range<Int>) -> JSONObject? {
        // A body that is not Google's has no reason, whatever its fault is.
        try? JSONObject(bytes, names: .none, in: part)
    }

    /// Returns a reason if it is a word as Google's are (`UNREGISTERED`, `invalid_grant`); otherwise nil.
    ///
    /// Reasons are stored, shown and counted, so no other text may pass.
    static func word(_ reason: String) -> String? {
        let isWord = reason.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
            default: false
            }
        }
        return isWord && (1...64).contains(reason.utf8.count) ? reason : nil
    }
}
