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
        let body = try? JSONObject(response.body, names: .none)
        return .response(
            status: response.status,
            reason: body?.text("reason").flatMap(checked),
            timestamp: body?.number("timestamp").map { Moment(milliseconds: $0) }
        )
    }

    /// Returns the reason if it is a single word, as Apple's reasons are (`BadDeviceToken`); otherwise nil.
    ///
    /// Reasons are stored, shown and counted, so no other text may pass.
    private static func checked(_ reason: String) -> String? {
        let isWord = reason.utf8.allSatisfy { HTTPHeader.isLetterOrDigit($0) }
        return isWord && (1...64).contains(reason.utf8.count) ? reason : nil
    }
}

extension HTTPHeader {
    fileprivate static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
