import CallCore
import CallPorts
import JSON
import OutboundHTTP

/// Apple's response to one push: its body is `{"reason":…,"timestamp":…}` with an error status, and empty with 200.
enum APNsResponse {
    /// Returns the result to report for this response; if the body is not Apple's, the result has no reason and no
    /// timestamp.
    static func result(of response: HTTPResponse) -> PushResult {
        guard response.status != 200 else { return .response(status: 200, reason: nil, timestamp: nil) }
        // A proxy or a gateway between the server and Apple may respond in HTML: then only the status is known.
        let body = PushResponse.object(response.body)
        return .response(
            status: response.status,
            reason: body?.text("reason").flatMap(PushResponse.word),
            timestamp: body?.number("timestamp").map { Moment(milliseconds: $0) }
        )
    }
}
