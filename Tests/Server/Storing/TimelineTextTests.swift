import CallCore
import CallPorts
import Testing

@testable import Storing

@Suite("The text of a timeline's event")
struct TimelineTextTests {
    private static let device = DeviceID("b1")
    private static let user = UserID("11")

    /// Each event with its name and its details in the database; these texts never change.
    private static let texts: [(TimelineEvent, String, String)] = {
        guard let device, let user else { return [] }
        return [
            (
                .signal(.offer, from: .caller, device: device, seq: 1), "offer",
                #""side":"caller","device":"b1","seq":1"#
            ),
            (
                .signal(.ice, from: .callee, device: device, seq: 1 << 53), "signal.ice",
                #""side":"callee","device":"b1","seq":9007199254740992"#
            ),
            (.blocked, "blocked", ""), (.numberBlocked, "blocked", #""by":"number""#), (.doNotDisturb, "dnd", ""),
            (.callIDTaken, "name_taken", ""),
            (
                .decided(.refused, code: "not_a_contact", after: .milliseconds(38)), "decided",
                #""outcome":"refused","code":"not_a_contact","milliseconds":38"#
            ), (.decided(.late, code: nil, after: .seconds(1)), "decided", #""outcome":"late","milliseconds":1000"#),
            (.tooManyCallers, "crowded", ""), (.noDevice, "no_device", ""), (.restarted, "restarted", ""),
            (.delivered(device), "delivered.socket", #""device":"b1""#),
            (.fetched(device), "fetched", #""device":"b1""#),
            (.probe(device), "probe", #""device":"b1""#), (.probeFailed(device), "probe.failed", #""device":"b1""#),
            (
                .pushSent(device, .ring(.voip), .sandbox), "push.sent",
                #""device":"b1","kind":"voip","environment":"sandbox""#
            ),
            (
                .pushResult(device, status: 200, reason: nil, .ring(.alert), .production), "push.result",
                #""device":"b1","status":200,"kind":"alert","environment":"production""#
            ),
            (
                .pushResult(device, status: nil, reason: "a \"b\"\n", .missed, .sandbox), "push.result",
                #""device":"b1","reason":"a \"b\"\n","kind":"missed","environment":"sandbox""#
            ),
            (.pushCancelled(device), "push.cancelled", #""device":"b1""#),
            (.pushSent(device, .ring(.firebase), nil), "push.sent", #""device":"b1","kind":"firebase""#),
            (.pushLowered(device), "push.lowered", #""device":"b1""#),
            (.silenced(device, .blockList), "device.silenced", #""device":"b1","why":"blockList""#),
            (.tokensRevoked(.callee), "logged_out", #""side":"callee""#),
            (.takenOver(node: "node-2:7070"), "taken_over", #""node":"node-2:7070""#),
            (
                .ringRefused(.perPair, from: user, count: 4), "ring.refused",
                #""limit":"rings_per_pair","from":"11","count":4"#
            ),
            (.ringSkipped(.limit), "ring.skipped", #""why":"limit""#),
            (
                .repeated(.delivered, device, count: 999), "repeated",
                #""device":"b1","of":"delivered.socket","count":999"#
            ),
            (.omitted(count: 10), "omitted", #""count":10"#),
            (.ended(.answeredElsewhere), "ended", #""reason":"answered_elsewhere""#),
        ]
    }()

    @Test("The text of each event never changes, and is read back as the same event")
    func texts() {
        #expect(Self.texts.count == 29)
        for (event, name, details) in Self.texts {
            #expect(event.name == name && event.details == details)
            #expect(TimelineEvent(name: name, details: details) == event)
            if !details.contains("\\") { #expect(event.byteCount == name.utf8.count + details.utf8.count) }
        }
    }

    @Test(
        "A text that this version cannot read is kept unchanged, and is shown to operators only",
        arguments: [
            ("later", #""device":"b1""#), ("dnd", #""until":1"#), ("push.sent", #""device":"b1""#), ("offer", ""),
            ("ended", #""reason":"bored""#), ("probe", #""device":"b1","device":"b1""#), ("signal.wave", "nonsense"),
            ("", ""), ("omitted", #""count":-1"#), ("omitted", #""count":010"#),
        ]
    )
    func foreign(_ name: String, _ details: String) {
        let event = TimelineEvent(name: name, details: details)
        #expect(event == .other(name: name, details: details))
        #expect(event.name == name && event.details == details && event.audience == .operators)
    }
}
