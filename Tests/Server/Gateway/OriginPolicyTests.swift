import CallCore
import CallPorts
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
            // A scheme's default port counts as absent, on either side.
            ("https://rl.example", "rl.example:443", true), ("https://rl.example", "rl.example:80", true),
            ("http://rl.example", "rl.example:80", true), ("https://rl.example:443", "rl.example", true),
            ("https://rl.example", "RL.example:443", true), ("https://rl.example", "rl.example.:443", true),
            ("https://rl.example.", "rl.example", true), ("https://rl.example", "rl.example:", true),
            ("https://rl.example", "rl.example:8443", false), ("https://rl.example:8443", "rl.example:443", false),
            ("https://rl.example:80", "rl.example:443", false), ("http://rl.example:443", "rl.example:80", false),
            ("https://[::1]", "[::1]:443", true), ("https://[::1]:8443", "[0:0::1]:8443", true),
            ("https://[::1]", "[::2]", false), ("https://127.0.0.1", "127.0.0.1:443", true),
            ("https://rl.example", "rl.example:443, evil.example", false),
            ("https://rl.example", "x@rl.example", false),
            ("https://rl.example/", "rl.example", false), ("https://evil.example/rl.example", "rl.example", false),
            ("https://rl.example:0", "rl.example:0", false), ("https://rl.example:70000", "rl.example:70000", false),
            ("capacitor://localhost", "localhost", true), ("capacitor://localhost", "localhost:80", false),
            ("https://", "", false), ("://rl.example", "rl.example", false), ("https://.", ".", false),
            // The Origin as clients other than browsers may write it.
            ("https://APP.example:443", "rl.example", true),
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
        let policy = OriginPolicy(allowing: ["*"])
        let head = RequestHead(method: "OPTIONS", path: "/api/calls", origin: origin)
        for headers in [policy.headers(for: origin), policy.preflightHeaders(for: head, isSocketIO: true)] {
            let echoed = headers.filter { $0.value == origin }
            #expect(echoed.map(\.name) == (isEchoed ? ["Access-Control-Allow-Origin"] : []))
            #expect(headers.isEmpty != isEchoed)
        }
    }

    @Test("A preflight request is granted every header that it names, if the name is valid")
    func requestedHeaders() throws {
        var head = RequestHead(method: "OPTIONS", path: "/api/calls", origin: "https://app.example")
        head.requestedHeaders = ["authorization", "traceparent", "x-b3-traceid", "a b", "x:y", "", "é"]
        head.requestedHeaders += Array(repeating: "n", count: 1_000)
        let headers = OriginPolicy(allowing: ["*"]).preflightHeaders(for: head, isSocketIO: false)
        let names = try #require(headers.first { $0.name == "Access-Control-Allow-Headers" }).value
        let parts = names.split(separator: ", ")
        #expect(
            parts.prefix(6) == [
                "Authorization", "Content-Type", "If-None-Match", "Idempotency-Key", "traceparent", "x-b3-traceid",
            ]
        )
        #expect(parts.count < 70)
    }

    @Test(
        "A page may send credentials, unless it is allowed only because all are and it is not Socket.IO",
        arguments: [("https://app.example", false, true), ("*", false, false), ("*", true, true)]
    )
    func credentials(_ allowed: String, _ isSocketIO: Bool, _ mayHave: Bool) {
        let headers = OriginPolicy(allowing: [allowed]).headers(for: "https://app.example", isSocketIO: isSocketIO)
        #expect(headers.contains { $0.name == "Access-Control-Allow-Credentials" } == mayHave)
    }

    @Test("Beside *, a page of an origin that is named may send credentials, and a page of another one may not")
    func credentialsOfNamed() {
        let policy = OriginPolicy(allowing: ["*", "https://app.example"])
        let allowed = ["https://app.example", "https://app.example:443", "https://other.example"].filter { origin in
            policy.headers(for: origin).contains { $0.name == "Access-Control-Allow-Credentials" }
        }
        #expect(allowed == ["https://app.example", "https://app.example:443"])
    }

    @Test(
        "A configured origin is what a browser sends",
        arguments: [
            ("https://app.example.com", "https://app.example.com"),
            ("https://app.example.com/", "https://app.example.com"),
            ("HTTPS://App.Example.COM", "https://app.example.com"),
            ("https://app.example.com:443", "https://app.example.com"),
            ("http://app.example.com:80/", "http://app.example.com"),
            ("http://app.example.com:8080", "http://app.example.com:8080"),
            ("https://app.example.com.", "https://app.example.com"), ("https://[0:0::1]:8443", "https://[::1]:8443"),
            ("capacitor://localhost", "capacitor://localhost"), ("ionic://localhost/", "ionic://localhost"),
            ("file://", "file://"), ("app://.", "app://."), ("APP://./", "app://."), ("app://-", "app://-"),
            ("chrome-extension://abcdefgh", "chrome-extension://abcdefgh"), ("*", "*"),
            ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ]
    )
    func configured(_ text: String, _ meant: String) throws {
        #expect(try WebOrigin.configured(text) == meant)
    }

    @Test(
        "An origin that no browser sends is refused",
        arguments: [
            "https://*.example.com", "ws://app.example.com", "WSS://app.example.com", "app://", "*.example.com",
            "app.example.com", "https://app.example.com/path", "null", "",
            "https://user@app.example.com", "https://user:pass@app.example.com", "https://bücher.example", "https://",
            "https://app.example.com:0", "https://app.example.com:99999", "https://app.example.com//", "https://a b",
            "https://app.example.com?x", "https://app.example.com#x", "https://*", "//app.example.com", "**", "1a://x",
            "https://[::1", "https://a.example,https://b.example", "https://a.example\u{0}", "https:\\\\a.example",
        ]
    )
    func meaningless(_ text: String) {
        #expect(throws: WebOrigin.Fault.self) { try WebOrigin.configured(text) }
    }
}
