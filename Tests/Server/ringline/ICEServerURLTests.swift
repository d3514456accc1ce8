import Testing

@testable import ringline

@Suite("The URL of a STUN or TURN server")
struct ICEServerURLTests {
    @Test(
        "A URL has a host, optionally a port, and for TURN optionally a transport",
        arguments: [
            ("turn:a.example", true), ("turn:a.example:3478?transport=udp", true), ("turn:a?transport=tcp", true),
            ("turns:192.0.2.1:5349", true), ("turn:[2001:db8::1]:3478", true), ("turn:[::1]", true),
            ("turn:[::ffff:192.0.2.1]:3478", true), ("turn:[2001:DB8:0:0:0:0:0:1]", true),
            ("stun:a_b-c.example:19302", false), ("stuns:a", false),
        ]
    )
    func good(_ text: String, _ isRelay: Bool) throws {
        let url = try #require(ICEServerURL(text))
        #expect(url.text == text)
        #expect(url.isRelay == isRelay)
    }

    @Test(
        "Any other text is refused",
        arguments: [
            "", "turn", "turn:", "turn::1", "turn:a:", "turn:a:0", "turn:a:65536", "turn:a:+1", "turn:a:1:2",
            "turn://a", "http://a", "TURN:a", "a:3478", "turn:a b", "turn:ä", "turn:a/", "turn:a?", "turn:a?transport=",
            "turn:a?transport=sctp", "turn:a?transport=udp&x", "stun:a?transport=udp", "turn:[::1", "turn:[]",
            "turn:[::1]3478", "turn:[::1]:", "turn:[1.2.3.4]", "turn:user@a", "turn:a,turn:b",
            "turn:[:]", "turn:[:::]", "turn:[2001:db8::１]", "turn:[1:2:3]", "turn:[::12345]", "turn:[::1%eth0]",
            "turn:a:１",
        ]
    )
    func bad(_ text: String) { #expect(ICEServerURL(text) == nil) }
}
