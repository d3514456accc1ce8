import SeededRandom
import Testing

@testable import LibWebSockets

@Suite("The filter of requests")
struct RequestFilterTests {
    /// Passes a text through a filter in pieces of these sizes, repeated.
    private func filtered(_ text: [UInt8], pieces: [Int] = [1 << 20], limit: Int = 4_096) -> [UInt8] {
        var filter = RequestFilter(limit: limit, limitBesidesCookies: 1_024)
        var passed: [UInt8] = []
        var rest = text[...]
        var sizes = pieces.makeIterator()
        while !rest.isEmpty {
            let size = min(rest.count, sizes.next() ?? pieces.last ?? 1)
            var buffer = [UInt8](repeating: 0xEE, count: RequestFilter.room) + rest.prefix(size)
            rest = rest.dropFirst(size)
            let count = buffer.withUnsafeMutableBytes { filter.filter($0, from: RequestFilter.room) }
            passed += buffer[..<count]
        }
        return passed
    }

    /// The text that the library gets, with the marks of the target removed.
    private func shown(_ text: String, pieces: [Int] = [1 << 20]) -> String {
        String(decoding: filtered(Array(text.utf8), pieces: pieces).map { $0 & 0x7F }, as: UTF8.self)
    }

    @Test("Headers that the server does not read are left out, and all others pass as they are")
    func headers() {
        let head = """
            POST /api/calls/signal HTTP/1.1\r\nHost: x\r\nCookie: a=b; c=d\r\nX: 1\r\nAuthorization: Bearer  t \r\n\
            X-Real: 1\r\nPUT: 1\r\nPragma: large\r\nCONTENT-LENGTH:\t2\r\nX-Forwarded-For: 1.2.3.4, 5.6.7.8\r\n\r\n{}
            """
        #expect(
            shown(head) == """
                POST /api/calls/signal HTTP/1.1\r\nhost:x\r\nauthorization:Bearer  t\r\ncontent-length:2\r\n\
                x-forwarded-for:1.2.3.4, 5.6.7.8\r\n\r\n{}
                """
        )
    }

    @Test("Blanks around a value are left out, however the head is split, and blanks within it stay", arguments: 1...40)
    func blanks(_ size: Int) {
        let head = """
            POST /a HTTP/1.1\r\nHost: \t x \t \r\nAuthorization:  Bearer \t t\t\r\nContent-Length: 2 \n\r\n{}\
            GET /b HTTP/1.1\r\n\r\n
            """
        #expect(
            shown(head, pieces: [size]) == """
                POST /a HTTP/1.1\r\nhost:x\r\nauthorization:Bearer   t\r\ncontent-length:2\n\r\n{}\
                GET /b HTTP/1.1\r\n\r\n
                """
        )
    }

    @Test("More blanks than are kept back stay within their value")
    func manyBlanks() {
        let blanks = String(repeating: " ", count: 200)
        #expect(shown("GET /a HTTP/1.1\r\nHost: x\(blanks)y\r\n\r\n", pieces: [1]).contains("host:x\(blanks)y\r\n"))
    }

    @Test("The target is marked, so that the library neither decodes nor folds it")
    func marks() {
        let passed = filtered(Array("GET /a%2f../%00//b?c=+&d;e HTTP/1.1\r\n\r\n".utf8))
        let target = passed.dropFirst(5).prefix { $0 != 32 }
        #expect(target.allSatisfy { $0 >= 0x80 + 0x21 })
        #expect(String(decoding: target.map { $0 & 0x7F }, as: UTF8.self) == "a%2f../%00//b?c=+&d;e")
    }

    @Test("Bodies pass unchanged, and requests behind them are filtered")
    func bodies() {
        let body = "GET /%00 HTTP/1.1\r\nCookie: x\r\n\r\n"
        let get = "GET / HTTP/1.1\r\nhost:x\r\n\r\n"
        let post = "POST / HTTP/1.1\r\ncontent-length:\(body.utf8.count)\r\n\r\n"
        #expect(shown(post + body + "GET / HTTP/1.1\r\nCookie: y\r\nhost:x\r\n\r\n") == post + body + get)
        // Behind these heads nothing is read as a request any more.
        for head in [
            "POST / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\ntransfer-encoding:chunked\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length:1\r\ncontent-length:1\r\n\r\n",
            "GET / HTTP/1.1\r\ncontent-length:x\r\n\r\n",
            "GET / HTTP/1.1\r\nupgrade:WebSocket\r\n\r\n", "GET / HTTP/1.1\r\ncontent-length:9999999999999999\r\n\r\n",
        ] { #expect(shown(head + body) == head + body) }
        // An upgrade that the server ignores, and a body of no length.
        for head in ["GET / HTTP/1.1\r\nupgrade:h2c\r\n\r\n", "PUT / HTTP/1.1\r\ncontent-length:0\r\n\r\n"] {
            #expect(shown(head + "GET / HTTP/1.1\r\nCookie: y\r\nhost:x\r\n\r\n") == head + get)
        }
    }

    @Test(
        "A malformed head is ended with a mark, and nothing after it passes as a request",
        arguments: [
            ("get / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("\u{16}\u{3}\u{1}", "GET / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("TRACE / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("CONNECT x:1 HTTP/1.1\r\n", "GET / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("GET http://x/ HTTP/1.1\r\n", "GET / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("GET  / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("HEAD  / HTTP/1.1\r\n", "HEAD / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("HEAD AAAAAAAA/ HTTP/1.1\r\n", "HEAD / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("HEADS / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("GET /a\u{1}", "GET /a HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("GET /a\r\n", "GET /a HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("GET /a \r\n", "GET /a HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("GET /a b HTTP/1.1\r\n", "GET /a HTTP/1.1\r\nPragma: line\r\n\r\n"),
            ("GET / HTTP/1.1\r\n x: folded\r\n", "GET / HTTP/1.1\r\nPragma: header\r\n\r\n"),
            ("GET / HTTP/1.1\r\nHost : x\r\n", "GET / HTTP/1.1\r\nPragma: header\r\n\r\n"),
            ("GET / HTTP/1.1\r\n: x\r\n", "GET / HTTP/1.1\r\nPragma: header\r\n\r\n"),
            ("GET / HTTP/1.1\r\nHost: a\rb", "GET / HTTP/1.1\r\nhost:a\r\nPragma: header\r\n\r\n"),
            ("GET / HTTP/1.1\r\nHost: a\u{0}", "GET / HTTP/1.1\r\nhost:a\r\nPragma: header\r\n\r\n"),
            ("GET / HTTP/1.1\r\nX: a\rb", "GET / HTTP/1.1\r\nPragma: header\r\n\r\n"),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding:\r\n chunked\r\n",
                "POST / HTTP/1.1\r\ntransfer-encoding:\r\nPragma: header\r\n\r\n"
            ),
        ]
    )
    func malformed(_ head: String, _ passed: String) {
        let rest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        let got = shown(head + rest)
        #expect(got.hasPrefix(passed))
        // Whatever follows is passed on without marks, so it cannot be taken for a request.
        #expect(filtered(Array((head + rest).utf8)).dropFirst(passed.utf8.count).allSatisfy { $0 < 0x80 })
    }

    @Test("A head that is too large is ended with a mark; a large Cookie alone does not make it so")
    func large() {
        let begin = "GET / HTTP/1.1\r\n"
        let cookie = "Cookie: \(String(repeating: "c", count: 3_000))\r\n"
        #expect(shown(begin + cookie + "Host: x\r\n\r\n") == begin + "host:x\r\n\r\n")
        let mark = "\r\nPragma: large\r\nContent-Length: 100000000\r\n\r\n"
        for lines in [
            "Authorization: \(String(repeating: "a", count: 1_100))\r\n", cookie + cookie,
            "X: \(String(repeating: "x", count: 1_100))\r\n",
            String(repeating: "Origin:1\r\n", count: 65),
        ] { #expect(shown(begin + lines + "\r\n").contains(mark), "\(lines.prefix(20))") }
        #expect(shown("GET /" + String(repeating: "p", count: 1_100)).contains(" HTTP/1.1" + mark))
    }

    @Test("The pieces in which a request arrives make no difference", arguments: UInt64(1)...200)
    func splits(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let parts = [
            "GET /a/../%2e?b=+ HTTP/1.1\r\nHost: x\r\nCookie: secret\r\n\r\n", "\r\n\nGET / HTTP/1.0\n\n",
            "POST / HTTP/1.1\nContent-Length: 5\nX: y\n\nGET /", "PUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
            "GET / HTTP/1.1\r\nUpgrade: h2c\r\nX-Forwarded-For: a\r\n\r\n", "DELETE /x HTTP/1.1\r\nA b: c\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "GET /\u{7F}", "garbage",
        ]
        var text: [UInt8] = []
        for _ in 0..<12 { text += Array((parts.randomElement(using: &random) ?? "").utf8) }
        let whole = filtered(text)
        let sizes = (0..<text.count).map { _ in Int.random(in: 1...9, using: &random) }
        #expect(filtered(text, pieces: sizes) == whole)
        #expect(filtered(text, pieces: [1]) == whole)
    }

    @Test("Random bytes neither overflow the buffer nor pass an unmarked target", arguments: UInt64(1)...200)
    func noise(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("GET /%.\r\n:HTTP/1.1hostcontent-length0 \t\u{0}é".utf8)
        var text: [UInt8] = []
        for _ in 0..<2_000 { text.append(alphabet.randomElement(using: &random) ?? 0) }
        let passed = filtered(text, pieces: (0..<500).map { _ in Int.random(in: 1...40, using: &random) })
        #expect(passed.count <= text.count + RequestFilter.room)
    }
}
