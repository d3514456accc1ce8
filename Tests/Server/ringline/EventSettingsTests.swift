import CallCore
import CallPorts
import Switchboard
import Testing

@testable import ringline

@Suite("The settings for events")
struct EventSettingsTests {
    private func settings(_ flags: [String: [String]]) throws -> ServeSettings {
        try ServeSettings(SettingsSource(flags: flags))
    }

    private func refusal(_ flags: [String: [String]]) -> String {
        do throws(UsageError) {
            _ = try ServeSettings(SettingsSource(flags: flags))
            Issue.record("\(flags) were accepted")
            return ""
        } catch { return error.description }
    }

    @Test("Without an endpoint and the feed there are no events")
    func off() throws {
        let settings = try settings(["events-types": ["call.*"]])
        #expect(settings.policy.events == nil && settings.backend == nil)
    }

    @Test("The feed alone needs no endpoint and no secret")
    func feed() throws {
        let settings = try settings(["events-feed": ["true"]])
        #expect(settings.policy.events == EventPolicy() && settings.backend == nil)
    }

    @Test("All settings are in the policy")
    func all() throws {
        let settings = try settings([
            "events-url": ["https://app.example/ringline?key=1", "http://10.0.0.1:9000"],
            "events-secret-file": ["/run/secret"], "events-types": ["device.*,call.ended"], "events-kept": ["30"],
            "events-kept-bytes": ["1000"],
        ])
        let policy = EventPolicy(
            types: [.deviceRegistered, .deviceRemoved, .callEnded, .eventsLost],
            endpoints: ["https://app.example/ringline?key=1", "http://10.0.0.1:9000"],
            keptFor: .seconds(30 * 86_400),
            keptBytes: 1_000
        )
        #expect(settings.policy.events == policy)
        #expect(settings.backend?.secretFile == "/run/secret")
    }

    @Test("An endpoint needs a secret, which the refusal says how to make, and a secret an endpoint")
    func together() {
        #expect(refusal(["events-url": ["https://a.example/"]]).contains("'ringline events secret > FILE'"))
        #expect(refusal(["events-secret-file": ["/run/secret"]]).contains("--events-secret-file: needs --events-url"))
        #expect(refusal(["events-ca-file": ["/run/ca"]]).contains("--events-ca-file: needs --events-url"))
    }

    @Test("The settings of decisions are in the policy")
    func decisions() throws {
        let settings = try settings([
            "decide-url": ["https://app.example/decide"], "events-secret-file": ["/run/secret"],
            "decide-timeout": ["0.25"], "decide-failure": ["refuse"], "decide-claims": ["role,tenant"],
            "caller-name": ["decision"],
        ])
        #expect(settings.policy.decisions == DecisionPolicy(timeout: .milliseconds(250), failure: .refuse))
        #expect(settings.policy.callerName == .decision && settings.policy.events == nil)
        #expect(settings.toldClaims == ["role", "tenant"])
        #expect(settings.backend?.decideURL == "https://app.example/decide" && settings.backend?.takesEvents == false)
        let none = try self.settings(["decide-timeout": ["2"], "decide-claims": ["role"]])
        #expect(none.policy.decisions == nil && none.toldClaims.isEmpty && none.backend == nil)
        #expect(refusal(["caller-name": ["decision"]]).contains("--caller-name: decision needs --decide-url"))
    }

    @Test(
        "An address that events may go to is taken",
        arguments: [
            "https://app.example", "https://app.example:8443/a/b?key=1", "https://192.0.2.1/",
            "https://[2001:db8::1]:1/",
            "http://localhost:9999/", "http://127.0.0.1/", "http://[::1]:80/", "http://192.168.1.4/",
            "http://backend.internal/", "http://backend_1:8000/hook",
        ]
    )
    func takes(_ url: String) { #expect(BackendURL.fault(of: url) == nil) }

    @Test(
        "Another address is refused with its fault, and is not quoted",
        arguments: [
            ("app.example/ringline", "must be https://HOST/PATH"), ("", "must be https://HOST/PATH"),
            ("https://app.example/a b", "must be https://HOST/PATH"),
            ("https://app.example/ü", "must be https://HOST/PATH"),
            ("https://app.example\\a", "must be https://HOST/PATH"),
            ("ftp://app.example/", "must begin with https://"), ("HTTPS://app.example/", "must begin with https://"),
            ("https://app.example/#secret", "must have no fragment"), ("https:///secret", "must name a host"),
            ("https://user:secret@app.example/", "must have no user name or password"),
            ("https://app.example:0/", "must name a host"), ("https://app.example:70000/", "must name a host"),
            ("https://app.example:+1/", "must name a host"), ("https://[app]/", "must name a host"),
            ("https://a%20b/", "must name a host"), ("http://192.0.2.1/", "must be https: plain http goes only to"),
            ("http://[2001:db8::1]/", "must be https: plain http goes only to"),
            ("https://" + String(repeating: "a", count: 2_000), "must be https://HOST/PATH"),
        ]
    )
    func refuses(_ url: String, _ fault: String) {
        let text = refusal(["events-url": [url], "events-secret-file": ["/run/secret"]])
        #expect(text.hasPrefix("--events-url: \(fault)"), "\(text)")
        #expect(!text.contains("secret@") && !text.contains("#secret"))
    }

    @Test("Up to four different endpoints may be given")
    func count() {
        let urls = (1...5).map { "https://\($0).example/" }
        let secret = ["events-secret-file": ["/run/secret"]]
        #expect(throws: Never.self) { try settings(secret.merging(["events-url": Array(urls.prefix(4))]) { $1 }) }
        #expect(
            refusal(secret.merging(["events-url": urls]) { $1 })
                == "--events-url: may be given at most 4 times, not 5 times"
        )
        #expect(
            refusal(secret.merging(["events-url": [urls[0], urls[1], urls[0]]]) { $1 })
                == "--events-url: number 3 is the same as an earlier one"
        )
        #expect(
            refusal(secret.merging(["events-url": [urls[0], "x"]]) { $1 })
                == "--events-url: number 2 must be https://HOST/PATH"
        )
    }

    @Test(
        "An unknown type is refused, with the nearest known one",
        arguments: [
            ("call.end", "there is no type 'call.end'; did you mean 'call.ended'?"),
            ("calls.*", "there is no type 'calls.*'; did you mean 'call.*'?"),
            ("call.ended,", "there is no type ''"), ("weather", "there is no type 'weather'"),
        ]
    )
    func types(_ text: String, _ fault: String) {
        #expect(refusal(["events-feed": ["true"], "events-types": [text]]).hasPrefix("--events-types: \(fault)"))
    }

    @Test("Events are kept for 1 to 90 days")
    func days() {
        for text in ["0", "91", "1.5", "week"] {
            #expect(
                refusal(["events-feed": ["true"], "events-kept": [text]])
                    == "--events-kept: must be a whole number of days from 1 to 90, not '\(text)'"
            )
        }
        #expect(refusal(["events-feed": ["true"], "events-kept-bytes": ["0"]]).hasPrefix("--events-kept-bytes: must"))
    }
}
