import CallCore
import CallPorts
import JSON
import Storing
import Testing

@testable import CallTrace

@Suite("The ladder of a call")
struct LadderTests {
    private func moment(_ milliseconds: Int64) -> Moment { Moment(milliseconds: milliseconds) }

    /// Explains a call from 11 to 10 that began at 0 and has these events.
    private func explanation(
        _ events: [(Int64, String, String)],
        answeredAt: Int64? = nil,
        endedAt: Int64? = nil,
        reason: EndReason? = nil,
        names: CallNames = CallNames(),
        woken: [Explanation.Woken] = []
    ) throws -> Explanation {
        let record = CallRecord(
            number: CallNumber(rawValue: 1),
            id: try #require(CallID("c-1")),
            epoch: 1,
            room: "p2p:11-10",
            caller: try #require(UserID("11")),
            callee: try #require(UserID("10")),
            displayName: "Taro",
            hasVideo: false,
            startedAt: moment(0),
            ringUntil: moment(45_000),
            answeredAt: answeredAt.map(moment),
            endedAt: endedAt.map(moment),
            reason: reason
        )
        return Explanation(
            record: record,
            events: events.map { TimelineRecord(at: moment($0.0), event: TimelineEvent(name: $0.1, details: $0.2)) },
            log: [],
            devices: [],
            names: names,
            woken: woken,
            at: moment(60_000)
        )
    }

    private let offer: (Int64, String, String) = (0, "offer", #""side":"caller","device":"a1","seq":1"#)
    private func sent(_ at: Int64, _ device: String) -> (Int64, String, String) {
        (at, "push.sent", "\"device\":\"\(device)\",\"kind\":\"voip\",\"environment\":\"sandbox\"")
    }

    @Test("A signal's arrow ends at the server, and that of the offer at each device that has it", arguments: [2, 5])
    func lanes(count: Int) throws {
        let devices = (1...count).map { "b\($0)" }
        let delivered = devices.map { (Int64(1), "delivered.socket", "\"device\":\"\($0)\"") }
        let rang = devices.map { (Int64(2), "signal.ringing", "\"side\":\"callee\",\"device\":\"\($0)\",\"seq\":2") }
        let ladder = try explanation([offer] + delivered + rang).ladder
        #expect(ladder.lanes.map(\.name) == ["caller 11", "server", "push service"] + devices)
        let steps = ladder.rows.map(\.step)
        #expect(steps.first == .arrow(from: 0, to: 1, arrives: true))
        for (index, lane) in (3..<3 + count).enumerated() {
            #expect(steps[1 + index] == .arrow(from: 1, to: lane, arrives: true))
            #expect(steps[1 + count + index] == .arrow(from: lane, to: 1, arrives: true))
        }
        let lines = ladder.text.split(separator: "\n")
        #expect(lines.count == 1 + 1 + 2 * count)
        #expect(lines.allSatisfy { $0.count <= 10 + 18 * (3 + count) })
    }

    @Test("What a dead connection was sent arrives nowhere, and what the next one is sent does")
    func deadConnection() throws {
        let ladder = try explanation([
            offer, (0, "delivered.socket", #""device":"b1""#), (0, "probe", #""device":"b1""#),
            (300, "probe.failed", #""device":"b1""#), (400, "delivered.socket", #""device":"b1""#),
            (410, "signal.ringing", #""side":"callee","device":"b1","seq":2"#),
        ]).ladder
        let arrivals = ladder.rows.compactMap { if case .arrow(_, _, let arrives) = $0.step { arrives } else { nil } }
        #expect(arrivals == [true, false, false, true, true])
        #expect(ladder.text.contains("─×│"))
    }

    @Test("A push that was not sent is no arrow, and one without a response does not arrive")
    func notSent() throws {
        let cancelled = try explanation([offer, sent(1, "b1"), (2, "push.cancelled", #""device":"b1""#)]).ladder
        #expect(cancelled.rows.map(\.label) == ["offer", "push: not sent", "push cancelled"])
        let logged = #""device":"b1","reason":"no APNs key is configured: pushes are only logged","kind":"voip""#
        let onlyLogged = try explanation([offer, sent(1, "b1"), (1, "push.result", logged)]).ladder
        #expect(onlyLogged.rows.map(\.step) == [.arrow(from: 0, to: 1, arrives: true), .note(at: 1), .note(at: 1)])
        let timeout = #""device":"b1","reason":"timeout","kind":"voip""#
        let unreachable = try explanation([offer, sent(1, "b1"), (5_000, "push.result", timeout)]).ladder
        #expect(unreachable.rows[1].step == .arrow(from: 1, to: 2, arrives: false))
        let refused = #""device":"b1","status":410,"reason":"Unregistered","kind":"voip""#
        let answer = try explanation([offer, sent(1, "b1"), (9, "push.result", refused)]).ladder
        #expect(answer.rows[2].label == "410 Unregistered")
        #expect(answer.rows[1].step == .arrow(from: 1, to: 2, arrives: true))
        #expect(answer.text.contains("│◀─ 410 Unreg"))
    }

    @Test("Where a second or more passes, the lines stop, and each row has its milliseconds")
    func gaps() throws {
        let ladder = try explanation([
            offer, (999, "signal.ringing", #""side":"callee","device":"b1","seq":2"#),
            (4_400, "signal.answer", #""side":"callee","device":"b1","seq":3"#),
            (3_700_000, "signal.end", #""side":"caller","device":"a1","seq":4"#),
        ]).ladder
        #expect(ladder.rows.map(\.time) == ["+0 ms", "+999 ms", "", "+4400 ms", "", "+3700 s"])
        #expect(ladder.rows.filter { $0.step == .gap }.map(\.label) == ["3.4 s later", "1 h 1 min later"])
        #expect(ladder.text.contains("┆ 3.4 s later"))
    }

    @Test("With names, the lanes, the title and the verdict have them in place of the ids")
    func names() throws {
        let (taro, hanako) = (try #require(UserID("11")), try #require(UserID("10")))
        let (phone, tablet) = (try #require(DeviceID("a1")), try #require(DeviceID("b1")))
        let names = CallNames(users: [taro: "Taro", hanako: "Hanako"], devices: [phone: "phone", tablet: "tablet"])
        let call = try explanation(
            [
                offer, sent(0, "b1"), (4, "push.result", #""device":"b1","status":200,"kind":"voip""#),
                (90, "signal.answer", #""side":"callee","device":"b1","seq":2"#),
                (2_090, "signal.end", #""side":"caller","device":"a1","seq":3"#),
                (2_090, "ended", #""reason":"hangup""#),
            ],
            answeredAt: 90,
            endedAt: 2_090,
            reason: .hangup,
            names: names,
            woken: [Explanation.Woken(tablet, at: moment(30))]
        )
        #expect(call.ladder.lanes.map(\.name) == ["Taro's phone", "server", "APNs", "Hanako's tablet"])
        #expect(call.ladder.rows.map(\.label).contains("wakes the app"))
        #expect(call.who == "Taro calls Hanako, audio" && call.briefOutcome == "answered, 2.0 s")
        #expect(call.sentences.first == "Hanako answered on the tablet at +0.09 s; Taro hung up at +2.09 s.")
        #expect(call.sentences.last?.hasPrefix("Hanako's tablet was pushed at +0.00 s") == true)
        #expect(call.text.contains(": answered, 2.0 s\n"))
    }

    @Test("A page gets the lanes and the rows that the terminal prints")
    func json() throws {
        let call = try explanation([offer, (2_000, "ended", #""reason":"answered_elsewhere""#)])
        let text = String(decoding: call.body, as: UTF8.self)
        #expect(text.contains(#""lanes":[{"kind":"caller","name":"caller 11","user":"11"}"#))
        #expect(text.contains(#"{"time":"+0 ms","from":0,"to":1,"arrives":true,"label":"offer","look":""}"#))
        #expect(text.contains(#"{"time":"","label":"2.0 s later","look":"faint"}"#))
        #expect(text.contains(#"{"time":"+2000 ms","at":1,"label":"ended: answered elsewhere","look":"end"}"#))
    }
}
