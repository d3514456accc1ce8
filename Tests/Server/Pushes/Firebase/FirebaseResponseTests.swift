import CallCore
import CallPorts
import OutboundHTTP
import Testing

@testable import Pushes

@Suite("Firebase's responses")
struct FirebaseResponseTests {
    private static let now = Moment(milliseconds: 1_000_000)
    private static let wall: Int64 = 784_111_777_000  // Sun, 06 Nov 1994 08:49:37 GMT

    private func result(_ status: Int, _ body: String, retryAfter: String? = nil) -> PushResult {
        let headers = retryAfter.map { [HTTPHeader("retry-after", $0)] } ?? []
        let response = HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
        return FirebaseResponse.result(of: response, at: Self.now, wall: Self.wall)
    }

    private func error(_ status: String, _ details: String = "") -> String {
        #"{"error":{"code":1,"message":"no","status":"\#(status)","details":[\#(details)]}}"#
    }

    @Test("A message that Google took is accepted, whatever the body says")
    func accepted() {
        #expect(result(200, "") == .response(status: 200, reason: nil, timestamp: nil))
        #expect(result(200, error("X")) == .response(status: 200, reason: nil, timestamp: nil))
    }

    @Test("The reason is Firebase's code or, without one, Google's status")
    func reasons() {
        let gone = #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}"#
        #expect(result(404, error("NOT_FOUND", gone)) == .response(status: 404, reason: "UNREGISTERED", timestamp: nil))
        #expect(result(404, error("NOT_FOUND")) == .response(status: 404, reason: "NOT_FOUND", timestamp: nil))
    }

    @Test("Only a 400 that names the token says that the token is at fault")
    func violations() {
        func violation(_ field: String) -> String {
            error(
                "INVALID_ARGUMENT",
                #"{"errorCode":"INVALID_ARGUMENT"},{"fieldViolations":[{"field":"a"},{"field":"\#(field)"}]}"#
            )
        }
        func reason(_ status: Int, _ field: String) -> String? {
            guard case .response(status, let reason, nil) = result(status, violation(field)) else { return "?" }
            return reason
        }
        #expect(reason(400, "message.token") == "INVALID_REGISTRATION_TOKEN")
        #expect(reason(400, "message.data") == "INVALID_ARGUMENT")
        let words =
            #"{"error":{"message":"The registration token is not a valid FCM registration token","status":"INVALID_ARGUMENT"}}"#
        #expect(result(400, words) == .response(status: 400, reason: "INVALID_REGISTRATION_TOKEN", timestamp: nil))
        #expect(reason(403, "message.token") == "INVALID_ARGUMENT")
    }

    @Test("Retry-After counts with the errors that pass, as seconds or as a date")
    func retryAfter() {
        func until(_ seconds: Int64) -> PushResult {
            .deferred(status: 503, reason: "UNAVAILABLE", until: Self.now + .seconds(seconds))
        }
        let body = error("UNAVAILABLE")
        #expect(result(503, body, retryAfter: "30") == until(30))
        #expect(result(503, body, retryAfter: "Sun, 06 Nov 1994 08:50:07 GMT") == until(30))
        #expect(result(503, body, retryAfter: "-5") == until(0))
        #expect(result(503, body, retryAfter: "99999999999") == until(86_400))
        #expect(result(503, body, retryAfter: "99999999999999999999") == until(86_400))
        #expect(result(503, body, retryAfter: "soon") == .response(status: 503, reason: "UNAVAILABLE", timestamp: nil))
        #expect(result(400, body, retryAfter: "30") == .response(status: 400, reason: "UNAVAILABLE", timestamp: nil))
    }

    @Test(
        "A body that is not Google's gives no reason",
        arguments: [
            "", "<html>", "[]", "{}", #"{"error":1}"#, #"{"error":[]}"#, #"{"error":{"status":5,"details":7}}"#,
            #"{"error":{"status":"two words"}}"#, #"{"error":{"status":""}}"#,
            #"{"error":{"details":[1,null,"x",[]]}}"#,
            #"{"error":{"details":[{"errorCode":"\n"}]}}"#, "\u{0}",
        ]
    )
    func strange(_ body: String) {
        #expect(result(500, body) == .response(status: 500, reason: nil, timestamp: nil))
    }
}
