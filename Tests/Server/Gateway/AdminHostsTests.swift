import Testing

@testable import Gateway

@Suite("The names of the operators' listener")
struct AdminHostsTests {
    @Test(
        "Names that nobody can register and configured names are admitted, and others are not",
        arguments: [
            (nil, true), ("127.0.0.1:9090", true), ("10.1.2.3", true), ("[::1]:9090", true), ("[fd00::1]", true),
            ("localhost", true), ("LOCALHOST:9090", true), ("ringline:9090", true), ("ringline", true),
            ("localhost.", true), ("ringline.calls.svc", true), ("ringline.calls.svc:9090", true),
            ("ringline.calls.svc.cluster.local:9090", true), ("ringline-0.ringline.calls.svc.cluster.local.", true),
            ("ringline.calls.svc.k8s.internal", true), ("metrics.example.com", true),
            ("Metrics.Example.Com:9090", true),
            ("metrics.example.com.", true),
            ("evil.example", false), ("evil.example:9090", false), ("a.svc.evil.example", false),
            ("svc.example", false),
            ("svc.evil.example", false), ("127.0.0.1.evil.example", false), ("metrics.example.com.evil.example", false),
            ("x.metrics.example.com", false), ("", false), ("evil example", false), ("127.0.0.1, evil.example", false),
            ("user@localhost", false), ("[::1", false), ("localhost:x", false), ("1.2.3.4.5", false),
        ] as [(String?, Bool)]
    )
    func admits(_ host: String?, _ isAdmitted: Bool) {
        #expect(AdminHosts(["metrics.example.com"]).admits(host) == isAdmitted)
    }

    @Test(
        "A configured name is a host name without a port",
        arguments: [
            ("metrics.example.com", "metrics.example.com"), ("Metrics.Example.Com.", "metrics.example.com"),
            ("metrics.example.com:9090", nil), ("https://metrics.example.com", nil), ("*.example.com", nil), ("", nil),
        ]
    )
    func configured(_ text: String, _ name: String?) {
        #expect(AdminHosts.configured(text) == name)
    }
}
