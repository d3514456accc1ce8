import Testing

@testable import LibWebSockets

/// The replacement of `%00` in the address of a request.
///
/// These tests cannot show that the library reads through our `recv`, because in a test bundle the C library's own
/// `recv` comes first; only a test of the server's executable can.
@Suite("An escaped NUL")
struct EscapedNULTests {
    private func repaired(_ text: String) -> String {
        var bytes = Array(text.utf8)
        bytes.withUnsafeMutableBytes { EscapedNUL.repair($0.baseAddress, count: $0.count) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        "%00 in the address of a request becomes %01",
        arguments: ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"]
    )
    func address(_ method: String) {
        let rest = " HTTP/1.1\r\nHost: %00\r\n\r\n"
        #expect(
            repaired("\(method) /a%00b?callId=%00&x=%0%000\(rest)") == "\(method) /a%01b?callId=%01&x=%0%010\(rest)"
        )
        // The function does not read beyond the end of a request line that is cut off.
        #expect(repaired("\(method) /a/b/c/d/e%00") == "\(method) /a/b/c/d/e%01")
        #expect(repaired("\(method) /a/b/c/d/e%0") == "\(method) /a/b/c/d/e%0")
    }

    @Test(
        "%00 stays in text that is not a request line, or is too short for one",
        arguments: [
            #"{"body":"GET /%00 HTTP/1.1"}"#, "get /%00 HTTP/1.1 in lower case", "GET a line %00 without a path",
            "GET /%00",
            "ABCDEFGHIJKL /%00 HTTP/1.1", "\u{1}\u{7F}GET /%00 HTTP/1.1", "G1T /%00 HTTP/1.1 01234",
        ]
    )
    func others(_ text: String) { #expect(repaired(text) == text) }
}
