import CallCore
import CallPorts
import OutboundHTTP
import Testing

@testable import Pushes

@Suite("A push service's response to a Web Push message")
struct WebPushResponseTests {
    private func result(_ status: Int, _ body: String = "", retryAfter: String? = nil) -> PushResult {
        let headers = retryAfter.map { [HTTPHeader("retry-after", $0)] } ?? []
        return WebPushResponse.result(
            of: HTTPResponse(status: status, headers: headers, body: Array(body.utf8)),
            at: Moment(milliseconds: 1_000),
            wall: 1_800_000_000_000
        )
    }

    @Test("200, 201 and 202 accept a message, and no other status does")
    func acceptance() {
        for status in [200, 201, 202] { #expect(result(status, #"{"reason":"x"}"#).isAccepted) }
        for status in [203, 204, 301, 400, 500] { #expect(!result(status).isAccepted) }
    }

    @Test("404 and 410 end a subscription")
    func ends() {
        for status in [404, 410] { #expect(result(status).condemnsToken(of: .web)) }
        for status in [400, 401, 403, 413, 429, 503] { #expect(!result(status).condemnsToken(of: .web)) }
    }

    @Test("A reason is one word of a JSON body; any other text is none")
    func reasons() {
        #expect(
            result(403, #"{"reason":"BadJwtToken"}"#) == .response(status: 403, reason: "BadJwtToken", timestamp: nil)
        )
        #expect(result(410, #"{"errno":106,"error":"Gone"}"#) == .response(status: 410, reason: "Gone", timestamp: nil))
        for body in ["", "<html>", #"{"reason":"two words"}"#, #"{"error":{"status":"X"}}"#, "[1]"] {
            #expect(result(403, body) == .response(status: 403, reason: nil, timestamp: nil), "\(body)")
        }
    }

    @Test("Retry-After delays the next attempt after a fault that passes, and only after such a one")
    func retryAfter() {
        #expect(
            result(429, retryAfter: "7")
                == .deferred(status: 429, reason: nil, until: Moment(milliseconds: 8_000))
        )
        #expect(result(403, retryAfter: "7") == .response(status: 403, reason: nil, timestamp: nil))
        #expect(result(503, retryAfter: "soon") == .response(status: 503, reason: nil, timestamp: nil))
    }
}
