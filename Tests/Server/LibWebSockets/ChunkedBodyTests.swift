import SeededRandom
import Testing

@testable import LibWebSockets

@Suite("A body in chunks")
struct ChunkedBodyTests {
    private func decoded(_ text: String, limit: Int = 100) throws -> (content: String, isComplete: Bool) {
        var body = ChunkedBody()
        try Array(text.utf8).withUnsafeBytes { try body.decode($0, limit: limit) }
        return (String(decoding: body.content, as: UTF8.self), body.isComplete)
    }

    @Test(
        "Chunks are joined; extensions, trailers and whatever follows are ignored",
        arguments: [
            ("5\r\nhello\r\n0\r\n\r\n", "hello"), ("0\r\n\r\n", ""),
            ("2\r\nab\r\nA\r\n0123456789\r\n0\r\n\r\n", "ab0123456789"),
            ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"), ("0005\r\nhello\r\n00\r\n\r\n", "hello"),
            ("5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", "hello"), ("5 \r\nhello\r\n0\r\n\r\n", "hello"),
            ("5\r\nhello\r\n0\r\nX: y\r\nZ: w\r\n\r\n", "hello"), ("5\r\n\r\n\r\n0\r\n0\r\n\r\n", "\r\n\r\n0"),
            ("5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n", "hello"),
        ]
    )
    func whole(_ text: String, _ content: String) throws {
        #expect(try decoded(text) == (content, true))
    }

    @Test(
        "Malformed chunks are a fault",
        arguments: [
            "x\r\n", "\r\n", "-1\r\n", "+5\r\nhello", "5\nhello\r\n", "5\r\nhelloX\r\n", "5\r\nhello\n", "0x5\r\nhello",
            "5\r\nhello\r\n0\r\n\n", "5\r\nhello\r\n0\r\nX: y\n\r\n", "5\rhello", " 5\r\nhello",
            "fffffffffffffffff\r\n",
            "5;\(String(repeating: "x", count: 300))\r\n",
            "5\r\nhello\r\n0\r\nX: \(String(repeating: "y", count: 5_000))",
            "\(String(repeating: "0", count: 300))5\r\n",
        ]
    )
    func malformed(_ text: String) {
        #expect(throws: ChunkedBody.Fault.malformed) { try decoded(text) }
    }

    @Test("Many small extensions are a fault too")
    func extensions() {
        let text = String(repeating: "1;\(String(repeating: "x", count: 200))\r\na\r\n", count: 30)
        #expect(throws: ChunkedBody.Fault.malformed) { try decoded(text) }
    }

    @Test("Content above the limit is a fault, after which the same bytes may be decoded with a higher limit")
    func large() throws {
        var body = ChunkedBody()
        let begin = Array("4\r\nabcd\r\n4\r\nef".utf8)
        let rest = Array("gh\r\n5\r\nijklm\r\n0\r\n\r\n".utf8)
        try begin.withUnsafeBytes { try body.decode($0, limit: 8) }
        #expect(throws: ChunkedBody.Fault.large) { try rest.withUnsafeBytes { try body.decode($0, limit: 8) } }
        try rest.withUnsafeBytes { try body.decode($0, limit: 13) }
        #expect(String(decoding: body.content, as: UTF8.self) == "abcdefghijklm" && body.isComplete)
        #expect(throws: ChunkedBody.Fault.large) { try decoded("ffffffff\r\n") }
    }

    @Test("The pieces in which a body arrives make no difference", arguments: UInt64(1)...100)
    func splits(_ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var text = ""
        var content = ""
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            let chunk = String(repeating: "x\r\n0", count: Int.random(in: 1...20, using: &random))
            text += String(chunk.utf8.count, radix: 16) + (Bool.random(using: &random) ? ";a" : "") + "\r\n\(chunk)\r\n"
            content += chunk
        }
        text += "0\r\n" + (Bool.random(using: &random) ? "T: u\r\n" : "") + "\r\n"
        var body = ChunkedBody()
        var rest = Array((text + "GET / HTTP/1.1\r\n\r\n").utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Int.random(in: 1...12, using: &random)))
            rest = rest.dropFirst(piece.count)
            #expect(body.isComplete == (text.utf8.count + 18 - rest.count - piece.count >= text.utf8.count))
            try piece.withUnsafeBytes { try body.decode($0, limit: 10_000) }
        }
        #expect(String(decoding: body.content, as: UTF8.self) == content && body.isComplete)
    }
}
