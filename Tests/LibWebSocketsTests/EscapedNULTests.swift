import Testing

@testable import LibWebSockets

/// That the library reads through it can be seen in the program only: a test bundle comes behind the C library.
@Suite("An escaped NUL")
struct EscapedNULTests {
    private func mended(_ text: String) -> String {
        var bytes = Array(text.utf8)
        bytes.withUnsafeMutableBytes { EscapedNUL.mend($0.baseAddress, count: $0.count) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        "of an address becomes a byte that no id has",
        arguments: ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"]
    )
    func address(_ method: String) {
        let rest = " HTTP/1.1\r\nHost: %00\r\n\r\n"
        #expect(mended("\(method) /a%00b?callId=%00&x=%0%000\(rest)") == "\(method) /a%01b?callId=%01&x=%0%010\(rest)")
        // Cut off anywhere nothing is read behind its end.
        #expect(mended("\(method) /a/b/c/d/e%00") == "\(method) /a/b/c/d/e%01")
        #expect(mended("\(method) /a/b/c/d/e%0") == "\(method) /a/b/c/d/e%0")
    }

    @Test(
        "of anything else stays",
        arguments: [
            #"{"body":"GET /%00 HTTP/1.1"}"#, "get /%00 HTTP/1.1 in lower case", "GET a line %00 without a path",
            "GET /%00",
            "ABCDEFGHIJKL /%00 HTTP/1.1", "\u{1}\u{7F}GET /%00 HTTP/1.1", "G1T /%00 HTTP/1.1 01234",
        ]
    )
    func others(_ text: String) { #expect(mended(text) == text) }
}
