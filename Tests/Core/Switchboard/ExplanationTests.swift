import CallCore
import CallPorts
import CallWire
import Storing
import Testing

@testable import CallTrace
@testable import Switchboard

@Suite("The verdict on a call")
struct ExplanationTests {
    /// Explains a call from 11 to 10 that began at 0, rings for 45 s, and has these events in its timeline.
    private func explain(
        _ events: [(Int64, String, String)],
        reason: EndReason? = nil,
        endedAt: Int64? = nil,
        answeredAt: Int64? = nil,
        scheduled: ScheduledRing? = nil,
        hidden: CallRecord.Hidden? = nil,
        recordsFrom source: Explanation.RecordSource = .server,
        askedAt: Int64 = 1_000
    ) throws -> String {
        let moment = { (milliseconds: Int64) in Moment(milliseconds: milliseconds) }
        var record = CallRecord(
            number: CallNumber(rawValue: 1),
            id: try call("c-1"),
            epoch: 1,
            room: "p2p:11-10",
            caller: try user("11"),
            callee: try user("10"),
            displayName: nil,
            hasVideo: false,
            startedAt: moment(0),
            ringUntil: moment(45_000),
            answeredAt: answeredAt.map(moment),
            endedAt: endedAt.map(moment),
            reason: reason
        )
        record.scheduled = scheduled
        record.hidden = hidden
        let offer = TimelineRecord(
            at: moment(0),
            event: .signal(.offer, from: .caller, device: try device("a1"), seq: 1)
        )
        return Explanation(
            record: record,
            events: [offer]
                + events.map { TimelineRecord(at: moment($0.0), event: TimelineEvent(name: $0.1, details: $0.2)) },
            log: [],
            devices: [],
            recordsFrom: source,
            at: moment(askedAt)
        ).text
    }

    @Test(
        "Each decision of the app's backend has a sentence, whether the call began or not",
        arguments: [
            (#""outcome":"allowed","milliseconds":38"#, nil, "allowed the call after 38 ms."),
            (#""outcome":"late","milliseconds":1000"#, nil, "did not decide within 1.00 s: the call was allowed, as"),
            (
                #""outcome":"unreachable","milliseconds":5"#, nil,
                "could not be reached, or failed, after 5 ms: the call"
            ),
            (#""outcome":"malformed","milliseconds":5"#, nil, "gave a response after 5 ms that the protocol does not"),
            (#""outcome":"unasked","milliseconds":0"#, nil, "was not asked, because it had failed shortly before: the"),
            (#""outcome":"overloaded","milliseconds":0"#, nil, "was not asked, because too many questions had no"),
            (
                #""outcome":"hidden","code":"x","milliseconds":38"#, .app,
                "refused the call (x) after 38 ms without telling"
            ),
            (#""outcome":"hidden","milliseconds":38"#, .app, "refused the call after 38 ms without telling the caller"),
            (
                #""outcome":"refused","code":"x","milliseconds":9"#, .refusedOffer,
                "refused the call (x) after 9 ms: the"
            ),
            (
                #""outcome":"late","milliseconds":1000"#, .refusedOffer,
                "did not decide within 1.00 s: the call was refused, as"
            ),
        ] as [(String, CallRecord.Hidden?, String)]
    )
    func decisions(_ details: String, _ hidden: CallRecord.Hidden?, _ sentence: String) throws {
        let text = try explain(
            [(0, "decided", details)],
            reason: hidden == .refusedOffer ? .declined : .unanswered,
            endedAt: hidden == .refusedOffer ? 38 : 45_000,
            hidden: hidden
        )
        #expect(text.contains("The app's backend \(sentence)"), "\(text)")
        #expect(text.prefix { $0 != "\n" }.hasSuffix(": refused") == (hidden == .refusedOffer), "\(text)")
    }

    private let pushed: [(Int64, String, String)] = [
        (0, "push.sent", #""device":"b1","kind":"voip","environment":"sandbox""#),
        (10, "push.result", #""device":"b1","status":200,"kind":"voip","environment":"sandbox""#),
    ]

    @Test("Of a scheduled call it says that the server rings, and shows no offer from the caller")
    func scheduled() throws {
        let ring = ScheduledRing(schedule: try #require(ScheduleID("s")), occurrence: Moment(milliseconds: 0), ring: 1)
        let text = try explain([(0, "scheduled", #""schedule":"s","for":0,"ring":1"#)], scheduled: ring)
        #expect(text.contains(": the server rings 10 as 11, 1970-") && !text.contains("calls"))
        #expect(!text.contains("── offer ─"))
        #expect(try explain([]).contains(": 11 calls 10, audio, 1970-") && explain([]).contains("── offer ─"))
    }

    @Test("Of a scheduled call it does not tell what a caller did or was told")
    func noCaller() throws {
        let ring = ScheduledRing(schedule: try #require(ScheduleID("s")), occurrence: Moment(milliseconds: 0), ring: 1)
        let busy = [(Int64(900), "signal.end", #""side":"callee","device":"b1","seq":2"#)]
        let answer = [(Int64(500), "signal.answer", #""side":"callee","device":"b1","seq":2"#)]
        let next = "he schedule's next time came at +1.00 s, so this ring ended."
        for (text, expected) in [
            (try explain([], reason: .replaced, endedAt: 1_000, scheduled: ring), "T" + next),
            (
                try explain(answer, reason: .replaced, endedAt: 1_000, answeredAt: 500, scheduled: ring),
                "10 answered on b1 at +0.50 s; t" + next
            ),
            (
                try explain(busy, reason: .busy, endedAt: 1_000, scheduled: ring),
                "10's device b1 said at +1.00 s that it is busy."
            ),
            (
                try explain([], reason: .missed, endedAt: 1_000, scheduled: ring, hidden: .block),
                "10 has blocked 11: nothing rang and nothing was pushed."
            ),
        ] {
            #expect(text.contains("Verdict: \(expected)\n"), "\(text)")
        }
    }

    @Test("A call that another node took over says which one, and not that the server was restarted")
    func takenOver() throws {
        let takeOver = { (node: String) in [(Int64(900), "restarted", ""), (900, "taken_over", "\"node\":\"\(node)\"")]
        }
        let once = try explain(takeOver("n2:7070"))
        #expect(once.contains("│ taken over by n2:7070") && !once.contains("restarted"))
        #expect(once.contains("The call was taken over by the node n2:7070; it went on with its original deadline."))
        let twice = try explain(takeOver("n2:7070") + takeOver("n3:7070"))
        #expect(twice.contains("was taken over 2 times, at last by the node n3:7070;"))
        #expect(try explain([(900, "restarted", "")]).contains("│ server restarted"))
    }

    @Test("For a stopped server or a backup of the store, the verdict reports the last known state of the call")
    func killed() throws {
        let answered = [(Int64(900), "signal.answer", #""side":"callee","device":"b1","seq":3"#)]
        let killed = try explain(answered, answeredAt: 900, recordsFrom: .noServer, askedAt: 86_400_000)
        #expect(killed.contains("it was going on when the server stopped or was killed, and the server has not"))
        #expect(killed.contains("the last event is at +0.90 s"))
        #expect(!killed.contains("the call goes on"))
        #expect(try explain(answered, answeredAt: 900, askedAt: 86_400_000).contains("the call goes on"))
        #expect(
            try explain(answered, answeredAt: 900, recordsFrom: .copy).contains("was going on when this copy was made")
        )
        #expect(try explain([], recordsFrom: .noServer).contains("rang when the server stopped or was killed"))
        #expect(
            try explain([], recordsFrom: .noServer, askedAt: 60_000).contains("the next start ends the call as unan")
        )
        #expect(try explain([], recordsFrom: .copy, askedAt: 60_000).contains("The call rang when this copy was made."))
        #expect(
            try explain([], recordsFrom: .server, askedAt: 60_000).contains("cannot write its database, or it hangs")
        )
        #expect(try explain([], recordsFrom: .server).contains("The call is ringing."))
    }

    @Test("The verdict reports do-not-disturb that was set while the call rang, and the pushes cancelled because of it")
    func silenced() throws {
        let text = try explain([
            (0, "push.sent", #""device":"b1","kind":"voip","environment":"sandbox""#), (400, "dnd", ""),
            (400, "push.cancelled", #""device":"b1""#),
        ])
        #expect(text.contains("10 set do-not-disturb while it rang, at +0.40 s: no push went out from then on."))
        #expect(text.contains("cancelled before it was sent, because 10 turned do-not-disturb on."))
    }

    @Test("The verdict distinguishes a device that rang from another device that was pushed and never reacted")
    func otherDevice() throws {
        let text = try explain(
            [(0, "delivered.socket", #""device":"b2""#)] + pushed
                + [(90, "signal.ringing", #""side":"callee","device":"b2","seq":3"#)]
        )
        #expect(text.contains("b1 was pushed at +0.00 s, APNs accepted it (sandbox) at +0.01 s, and the device"))
        #expect(text.contains("b2 rang over its connection at +0.09 s."))
    }

    @Test("A device without an id that connects counts as the pushed device, with a caveat if there were several")
    func nameless() throws {
        let came = (Int64(80), "fetched", #""device":"t-00""#)
        #expect(try explain(pushed + [came]).contains("and it came back at +0.08 s as t-00."))
        let other = (Int64(0), "push.sent", #""device":"b2","kind":"voip","environment":"sandbox""#)
        #expect(try explain(pushed + [other, came]).contains("as t-00: this one or another."))
        let before = (Int64(0), "delivered.socket", #""device":"t-00""#)
        #expect(try explain([before] + pushed + [came]).contains("the device has not come back"))
    }

    @Test("A dead connection is reported for its own device, not for another device that was pushed immediately")
    func deadConnection() throws {
        let failed = (Int64(300), "probe.failed", #""device":"b2""#)
        #expect(!(try explain(pushed + [failed]).contains("was closed first")))
        let text = try explain([(0, "delivered.socket", #""device":"b2""#)] + pushed + [failed])
        #expect(text.contains("b2 looked connected") && text.contains("and it has no push token"))
        let own = (Int64(0), "probe.failed", #""device":"b1""#)
        #expect(try explain([own] + pushed).contains("was closed first"))
    }

    @Test("A pushed device is reported as never coming back only if it had time to connect")
    func noTime() throws {
        #expect(try explain(pushed, askedAt: 300).contains("and the device has not come back yet."))
        let brief = try explain(pushed, reason: .cancelled, endedAt: 400)
        #expect(brief.contains("had not come back when the ringing stopped, 0.40 s later."))
        for (reason, endedAt) in [(EndReason.cancelled, Int64(9_000)), (.unanswered, 45_000)] {
            let text = try explain(pushed, reason: reason, endedAt: endedAt, askedAt: 50_000)
            #expect(text.contains("but the device never came back: it is off"))
        }
    }

    @Test("A registration without a device id is matched with the dead connection for which it was pushed")
    func namelessDeadConnection() throws {
        let text = try explain([
            (0, "delivered.socket", #""device":"c-1""#), (300, "probe.failed", #""device":"c-1""#),
            (300, "push.sent", #""device":"d-1","kind":"voip","environment":"sandbox""#),
            (310, "push.result", #""device":"d-1","status":200,"kind":"voip","environment":"sandbox""#),
        ])
        #expect(text.contains("; the registration without a device id was pushed instead."))
        #expect(text.contains("d-1 was pushed at +0.30 s (a connection that did not answer its ping was closed first)"))
    }

    @Test("If no server runs, the verdict on a call stored as ringing after its ring time says that the server stopped")
    func stopped() throws {
        #expect(try explain(pushed, askedAt: 44_000).contains("The call is ringing."))
        let late = try explain(pushed, recordsFrom: .noServer, askedAt: 60_000)
        #expect(late.contains("The server stopped while the call rang"))
    }

    @Test("The verdict reports who ended the call, and whether a device or the policy said busy")
    func ender() throws {
        let end = (Int64(20), "signal.end", #""side":"callee","device":"b2","seq":4"#)
        #expect(try explain([end], reason: .declined, endedAt: 20).contains("10 declined on b2 at +0.02 s."))
        #expect(
            try explain([end], reason: .busy, endedAt: 20).contains("10's device b2 said at +0.02 s that it is busy")
        )
        #expect(try explain([], reason: .busy, endedAt: 0).contains("10 was in another call"))
        let answer = (Int64(10), "signal.answer", #""side":"callee","device":"b2","seq":3"#)
        let late = (Int64(30), "signal.end", #""side":"callee","device":"b3","seq":6"#)
        let text = try explain([answer, end, late], reason: .hangup, endedAt: 20, answeredAt: 10)
        #expect(text.contains("10 answered on b2 at +0.01 s; 10 hung up at +0.02 s."))
    }

    @Test("The verdict on a call that was answered after all does not say that nothing could ring")
    func found() throws {
        let events = [
            (Int64(0), "no_device", ""), (2_000, "fetched", #""device":"t-00""#),
            (2_100, "signal.answer", #""side":"callee","device":"t-00","seq":3"#),
        ]
        let text = try explain(events, answeredAt: 2_100, askedAt: 3_000)
        #expect(!text.contains("nothing could ring"))
        #expect(text.contains("the call was fetched at +2.00 s by a device that asked for it"))
    }

    @Test("200 candidates take one row for each side in the ladder")
    func candidates() throws {
        var events: [(Int64, String, String)] = []
        for number in 0..<100 {
            events.append((Int64(number), "signal.ice", #""side":"caller","device":"a1","seq":\#(number + 3)"#))
            events.append((Int64(number), "signal.ice", #""side":"callee","device":"b1","seq":\#(number + 200)"#))
        }
        let text = try explain(events)
        #expect(text.split(separator: "\n").filter { $0.contains("ice ×100") }.count == 2)
        #expect(text.split(separator: "\n").count < 10)
    }

    @Test("The verdict reports an alert that rang, and which attempt succeeded")
    func notice() throws {
        let text = try explain([
            (0, "push.sent", #""device":"b1","kind":"alert","environment":"sandbox""#),
            (5, "push.result", #""device":"b1","status":503,"kind":"alert","environment":"sandbox""#),
            (255, "push.sent", #""device":"b1","kind":"alert","environment":"sandbox""#),
            (260, "push.result", #""device":"b1","status":200,"kind":"alert","environment":"sandbox""#),
        ])
        let alerted =
            "was sent an alert (it has no VoIP token, or had not reacted to its last 3 VoIP pushes) at +0.26 s (try 2)"
        #expect(text.contains(alerted), "\(text)")
        #expect(text.contains("── alert ───────▶"))
    }

    @Test("The verdict does not take the alert after the ringing for another ring")
    func over() throws {
        let text = try explain([
            (0, "push.sent", #""device":"b1","kind":"alert","environment":"sandbox""#),
            (5, "push.result", #""device":"b1","status":200,"kind":"alert","environment":"sandbox""#),
            (900, "push.sent", #""device":"b1","kind":"over","environment":"sandbox""#),
            (905, "push.result", #""device":"b1","status":410,"kind":"over","environment":"sandbox""#),
        ])
        #expect(text.contains("APNs accepted it"), "\(text)")
        #expect(text.contains("── call over"), "\(text)")
    }
}
