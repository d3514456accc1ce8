import LibWebSockets
import Testing

@testable import Gateway

@Suite("The policy for the origins of web pages")
struct OriginPolicyTests {
    @Test(
        "Pages of the server's own host, pages of configured origins, and clients without an Origin may connect",
        arguments: [
            (nil, nil, true), (nil, "rl.example", true),
            ("https://rl.example", "rl.example", true), ("https://RL.example", "rl.EXAMPLE", true),
            ("http://rl.example:8080", "rl.example:8080", true), ("http://rl.example:8080", "rl.example", false),
            ("https://app.example", "rl.example", true), ("https://app.example:444", "rl.example", false),
            ("https://evil.example", "rl.example", false), ("https://rl.example.evil", "rl.example", false),
            ("https://rl.example", nil, false), ("null", "rl.example", false), ("null", "null", false),
        ] as [(String?, String?, Bool)]
    )
    func own(_ origin: String?, _ host: String?, _ isAllowed: Bool) {
        let policy = OriginPolicy(allowing: ["https://app.example"])
        #expect(policy.isAllowed(origin: origin, host: host) == isAllowed)
    }

    @Test("Every page may connect if the configured origin is *")
    func any() {
        let policy = OriginPolicy(allowing: ["*"])
        for origin in ["https://evil.example", "null", ""] { #expect(policy.isAllowed(origin: origin, host: "x")) }
    }

    @Test(
        "An origin with a character outside printable ASCII gets no CORS headers, so it is not copied into a response",
        arguments: [
            ("https://app.example", true), ("null", true), ("https://a.example\u{1}", false),
            ("https://a\tb.example", false), ("https://a.example\u{7F}", false), ("https://日本.example", false),
            ("https://a\r\nSet-Cookie: x", false),
        ]
    )
    func echo(_ origin: String, _ isEchoed: Bool) {
        let echoed = OriginPolicy.headers(for: origin).filter { $0.value == origin }
        #expect(echoed.map(\.name) == (isEchoed ? ["Access-Control-Allow-Origin"] : []))
        #expect(OriginPolicy.headers(for: origin).isEmpty != isEchoed)
        #expect(OriginPolicy.preflightHeaders(for: origin).isEmpty != isEchoed)
    }
}
