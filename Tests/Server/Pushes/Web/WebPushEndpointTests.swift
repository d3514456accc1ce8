import CallPorts
import Testing

@Suite("A Web Push endpoint")
struct WebPushEndpointTests {
    @Test(
        "Addresses of the four push services are allowed",
        arguments: [
            "https://fcm.googleapis.com/fcm/send/abc:def", "https://FCM.googleapis.com:443/wp/x",
            "https://updates.push.services.mozilla.com/wpush/v2/gAAA", "https://web.push.apple.com/QGr",
            "https://wns2-par02p.notify.windows.com/w/?token=BQ%3d",
        ]
    )
    func allowed(_ text: String) throws {
        #expect(WebPushHosts().allows(try #require(WebPushEndpoint(text))))
    }

    @Test(
        "Every other address is refused, however it is written",
        arguments: [
            "http://fcm.googleapis.com/x", "https://fcm.googleapis.com", "https://fcm.googleapis.com:8443/x",
            "https://fcm.googleapis.com@evil.example/x", "https://evil.example/fcm.googleapis.com",
            "https://fcm.googleapis.com.evil.example/x", "https://evilpush.apple.com/x", "https://push.apple.com/x",
            "https://evil-push.apple.com/x", "https://fcm.googleapis.com./x", "https://127.0.0.1/x",
            "https://2130706433/x", "https://0x7f.1/x", "https://[::1]/x",
            "https://fcm.googleapis.com\\@evil.example/x",
            "https://fcm.googleapis.com%2eevil.example/x", "https://fcm.googleapis.com#@evil.example/",
            "https://fcm.googleapis.com/x\ny", "https://fcm.googleapis.com/é", "https:///fcm.googleapis.com/x",
            "https://fcm.googleapis.com:0/x", "https://fcm.googleapis.com:70000/x", "https://fcm.googleapis.com:+443/x",
            "https://fcm.googleapis.com:/x", "https://fcm.googleapis.com/./x", "https://fcm.googleapis.com/a/../x",
            "https://fcm.googleapis.com/a/%2E./x", "https://fcm.googleapis.com/..", "https://.push.apple.com/x",
            "https://a..push.apple.com/x", "",
            "https://fcm.googleapis.com/" + String(repeating: "x", count: 2_048),
        ]
    )
    func refused(_ text: String) {
        #expect(WebPushEndpoint(text).map { WebPushHosts().allows($0) } ?? false == false)
    }

    @Test("A host that is added with its port may be private; a name or a domain may not, and needs port 443")
    func addedHosts() throws {
        var hosts = WebPushHosts()
        for right in ["push.example.com", "*.example.org", "127.0.0.1:8443"] {
            let isAdded = hosts.add(right)
            #expect(isAdded, "\(right)")
        }
        for wrong in ["", "*", "*.", "a b", "https://x", "x:", "x:0", "x:+443", "*.x:443", "x/y", "-x"] {
            let isAdded = hosts.add(wrong)
            #expect(!isAdded, "\(wrong)")
        }
        func endpoint(_ text: String) throws -> WebPushEndpoint { try #require(WebPushEndpoint(text)) }
        #expect(hosts.allows(try endpoint("https://push.example.com/x")))
        #expect(!hosts.allows(try endpoint("https://push.example.com:8443/x")))
        #expect(!hosts.allows(try endpoint("https://a.push.example.com/x")))
        #expect(hosts.allows(try endpoint("https://a.b.example.org/x")))
        #expect(!hosts.allows(try endpoint("https://example.org/x")))
        #expect(hosts.allows(try endpoint("https://127.0.0.1:8443/x")))
        #expect(!hosts.allows(try endpoint("https://127.0.0.1/x")))
        #expect(hosts.mayBePrivate(try endpoint("https://127.0.0.1:8443/x")))
        #expect(!hosts.mayBePrivate(try endpoint("https://push.example.com/x")))
        #expect(!hosts.mayBePrivate(try endpoint("https://a.example.org/x")))
    }

    @Test("Origin and address have scheme and host in lower case, and the port unless it is 443")
    func origins() throws {
        #expect(WebPushEndpoint("HTTPS://FCM.GoogleAPIs.com:443/X?y")?.address == "https://fcm.googleapis.com/X?y")
        #expect(WebPushEndpoint("https://FCM.GoogleAPIs.com:443/x")?.origin == "https://fcm.googleapis.com")
        #expect(WebPushEndpoint("https://127.0.0.1:8443/x")?.origin == "https://127.0.0.1:8443")
    }
}
