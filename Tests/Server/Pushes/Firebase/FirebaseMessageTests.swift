import CallCore
import CallPorts
import Testing

@testable import Pushes

@Suite("The body of a Firebase message")
struct FirebaseMessageTests {
    private func body(_ token: String, _ kept: OutgoingPush.Kept, left: Int64, onlyValidates: Bool = false) -> String {
        let push = OutgoingPush(
            id: PushID(rawValue: 1),
            route: .plain(.firebase, token: token),
            uuid: "",
            payload: Array(#"{"a":"b"}"#.utf8),
            kept: kept,
            expiresAt: Moment(milliseconds: 0)
        )
        return String(
            decoding: FirebaseMessage.body(of: push, left: left, onlyValidates: onlyValidates),
            as: UTF8.self
        )
    }

    @Test("It has the token, the data as they are, the priority and the seconds left, and nothing else")
    func form() {
        #expect(
            body("t", .untilExpiry, left: 44_999)
                == #"{"message":{"token":"t","data":{"a":"b"},"android":{"priority":"HIGH","ttl":"44s"}}}"#
        )
        #expect(body("t", .untilExpiry, left: 1, onlyValidates: true).hasPrefix(#"{"validate_only":true,"message":{"#))
    }

    @Test("It is kept for at least a second, and a notice for a day")
    func seconds() {
        #expect(body("t", .untilExpiry, left: 999).contains(#""ttl":"1s""#))
        #expect(body("t", .untilExpiry, left: -5).contains(#""ttl":"1s""#))
        #expect(body("t", .aDay, left: 5_000).contains(#""ttl":"86400s""#))
    }

    @Test("A token can contain any character")
    func escapes() { #expect(body("a\"\n", .aDay, left: 1).contains(#""token":"a\"\n","data""#)) }
}
