import CallPorts
import Testing

@testable import LibWebSockets

@Suite("The target of a request")
struct RequestTargetTests {
    @Test("The path stays as it was written; the query is decoded, and + stays +")
    func parts() throws {
        let target = try #require(RequestTarget("/api/calls/a%7Cb%2Bc?peer=+8210&x=%2B&y&=z&a=b=c&;d=%20".utf8))
        #expect(target.path == "/api/calls/a%7Cb%2Bc")
        #expect(target.query.map { "\($0.name)|\($0.value)" } == ["peer|+8210", "x|+", "y|", "|z", "a|b=c", ";d| "])
    }

    @Test(
        "Nothing is folded",
        arguments: [
            "//api/calls", "/api//calls", "/api/calls/", "/api%2fcalls", "/%61pi/calls", "/api/calls;x=1", "/a\\b",
        ]
    )
    func unfolded(_ text: String) {
        #expect(RequestTarget(text.utf8)?.path == text)
    }

    @Test(
        "A target that another reader may fold, or that is malformed, is refused",
        arguments: [
            "/ws/../api/calls", "/api/./calls", "/..", "/.", "/a/%2e%2E/b", "/a/.%2e", "/a/%2e?x", "/%", "/%4", "/%4g",
            "/a?b=%", "/a?%zz", "/a?b=%0d", "/%0A", "api/calls", "", "*", "http://x/", "?a",
        ]
    )
    func refused(_ text: String) {
        #expect(RequestTarget(text.utf8) == nil)
    }

    @Test(
        "A part that only begins with a dot is an ordinary one",
        arguments: ["/.well-known", "/a..b", "/...", "/..a"]
    )
    func dots(_ text: String) {
        #expect(RequestTarget(text.utf8)?.path == text)
    }
}
