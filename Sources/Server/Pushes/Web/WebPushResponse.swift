import CallCore
import CallPorts
import JSON
import OutboundHTTP

/// A push service's response to one message.
///
/// Apple's errors are `{"reason":…}`, Mozilla's `{"error":…}`; other services write texts for people.
///
/// Source: RFC 8030, section 5; "Sending web push notifications in web apps and browsers", Apple; "Autopush HTTP API",
/// Mozilla.
enum WebPushResponse {
    /// Returns the result to report for a response that came at `now`.
    static func result(of response: HTTPResponse, at now: Moment, wall: Int64) -> PushResult {
        let status = response.status
        guard !PushResult.isAcceptance(status) else { return .response(status: status, reason: nil, timestamp: nil) }
        let body = PushResponse.object(response.body)
        let reason = (body?.text("reason") ?? body?.text("error")).flatMap(PushResponse.word)
        guard let until = PushResponse.retryAt(response, at: now, wall: wall) else {
            return .response(status: status, reason: reason, timestamp: nil)
        }
        return .deferred(status: status, reason: reason, until: until)
    }
}
