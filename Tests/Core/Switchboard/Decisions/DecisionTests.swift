import CallCore
import CallPorts
import CallTrace
import CallWire
import Testing

@testable import Switchboard

/// A world whose server asks the app's backend about offers, with the caller 11 and the callee 10 connected.
struct DecisionRig {
    let world: SwitchboardWorld
    let caller: SocketID
    let callee: SocketID

    init(
        _ failure: DecisionPolicy.Failure = .allow,
        _ adjust: (inout Policy) -> Void = { _ in }
    ) throws {
        world = SwitchboardWorld { policy in
            policy.decisions = DecisionPolicy(timeout: .seconds(1), failure: failure)
            policy.events = EventPolicy()
            policy.ringsPerPair = 0
            policy.callsPerMinute = 1_000
            adjust(&policy)
        }
        try world.register(try principal("10"), "b1")
        caller = try world.open("11", "a1")
        callee = try world.open("10", "b1")
        clear()
    }

    /// The events of calls so far.
    var callEvents: [AppEventType] { world.eventTypes.filter { $0.rawValue.hasPrefix("call.") } }

    /// Sends an offer from the caller, and returns its question.
    @discardableResult
    func offer(_ callID: String = "c-1", id: String = "o", more: String = "") throws -> DecisionRequest {
        let count = world.questions.count
        world.send(caller, SwitchboardWorld.offer(callID, to: "10", id: id, more: more))
        try #require(world.questions.count == count + 1, "the backend was not asked")
        return world.questions[count]
    }

    /// An offer that begins another call under the callId of the first one.
    static let newOffer = SwitchboardWorld.offer(
        "c-1",
        to: "10",
        id: "o2",
        sdp: "v=0\\r\\ns=2\\r\\n",
        more: #","begin":true"#
    )

    /// Hands in a response of the backend.
    func respond(_ question: DecisionRequest, _ body: String, status: Int = 200) {
        world.give(.decided(question.id, .response(status: status, body: Array(body.utf8))))
    }

    /// Returns the verdict on the newest record of a call.
    func verdict(on callID: String = "c-1") throws -> String {
        var service = try principal("backend")
        service.isService = true
        return try world.reply(service, .calls(.timeline(try call(callID))))["verdict"] ?? ""
    }

    /// Discards the frames that both connections were sent so far.
    func clear() { _ = (world.takeFrames(of: caller), world.takeFrames(of: callee)) }
}

@Suite("Decisions of the app's backend about offers")
struct DecisionTests {
    @Test("An offer waits for the decision: it is in no log, and nothing is acknowledged, shown or pushed before")
    func waits() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        #expect(
            String(decoding: question.body, as: UTF8.self)
                == #"{"caller":"11","to":["10"],"callId":"c-1","hasVideo":false,"token":{}}"#
        )
        #expect(question.timeout == .milliseconds(1_500), "the switchboard gives up first")
        #expect(rig.world.takeFrames(of: rig.caller).isEmpty)
        #expect(rig.world.takeFrames(of: rig.callee).isEmpty)
        #expect(rig.world.record("c-1") == nil && rig.callEvents.isEmpty && rig.world.pushes.isEmpty)
        rig.world.wait(.milliseconds(38))
        rig.respond(question, #"{"allow":true}"#)
        #expect(rig.world.takeFrames(of: rig.caller).ack?["callId"] == "c-1")
        #expect(rig.world.takeFrames(of: rig.callee).types == ["offer"])
        #expect(rig.world.events("decided") == [#""outcome":"allowed","milliseconds":38"#])
        #expect(try rig.verdict().contains("The app's backend allowed the call after 38 ms."))
    }

    @Test("The backend names the caller, gives a handle and shortens the ring, and all other members stay as they came")
    func changes() throws {
        let rig = try DecisionRig()
        let more = #","displayName":"Mallory","handle":"+1","handleType":"phoneNumber","x":{"a" : 1},"ringTimeout":60"#
        let question = try rig.offer(more: more)
        let kim = #""displayName":"Dr Kim","handle":"kim@example.com","handleType":"emailAddress""#
        rig.respond(question, #"{"allow":true,\#(kim),"ringTimeout":20}"#)
        let offer = try #require(rig.world.takeFrames(of: rig.callee).first)
        #expect(offer["displayName"] == "Dr Kim" && offer["handle"] == "kim@example.com")
        #expect(offer["handleType"] == "emailAddress" && offer["x"] == #"{"a" : 1}"# && offer["ringTimeout"] == nil)
        let record = try #require(rig.world.record("c-1"))
        #expect(record.displayName == "Dr Kim" && record.ringUntil - record.startedAt == .seconds(20))
    }

    @Test("A refusal with a wrong member refuses all the same, also where a failure would allow the call")
    func malformedRefusal() throws {
        for more in [#""code":"closed for today""#, #""show":"hide""#, #""message":404"#, #""to":["12"]"#] {
            let rig = try DecisionRig(.allow)
            rig.respond(try rig.offer(), #"{"allow":false,\#(more)}"#)
            #expect(rig.world.takeFrames(of: rig.caller).first?["code"] == "refused_by_app", "\(more)")
            #expect(rig.world.takeFrames(of: rig.callee).isEmpty, "\(more)")
        }
    }

    @Test("A longer ring than the offer's is not granted")
    func longerRing() throws {
        let rig = try DecisionRig()
        let question = try rig.offer(more: #","ringTimeout":10"#)
        rig.respond(question, #"{"allow":true,"ringTimeout":60}"#)
        let record = try #require(rig.world.record("c-1"))
        #expect(record.ringUntil - record.startedAt == .seconds(10))
    }

    @Test("An open refusal is told with the app's code; there is no call and no event, and explain knows why")
    func refused() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        rig.world.wait(.milliseconds(38))
        rig.respond(question, #"{"allow":false,"code":"not_a_contact","message":"Ask them first."}"#)
        let error = try #require(rig.world.takeFrames(of: rig.caller).first)
        #expect(error["type"] == "error" && error["id"] == "o" && error["code"] == "refused_by_app")
        #expect(error["appCode"] == "not_a_contact" && error["message"] == "Ask them first.")
        #expect(rig.world.takeFrames(of: rig.callee).isEmpty && rig.world.pushes.isEmpty)
        #expect(rig.callEvents.isEmpty && rig.world.switchboard.countCalls().values.allSatisfy { $0 == 0 })
        #expect(rig.world.record("c-1")?.hidden == .refusedOffer)
        let told = "The app's backend refused the call (not_a_contact) after 38 ms"
        #expect(try rig.verdict().contains(told))
        for user in ["10", "11"] {
            let history = try rig.world.reply(try principal(user), .calls(.history(limit: 10, before: nil)))
            #expect(String(decoding: history.body, as: UTF8.self) == "[]", "nobody sees it")
        }
        // The next offer under the same callId is asked about again.
        rig.respond(try rig.offer(id: "o2"), #"{"allow":true}"#)
        #expect(rig.world.takeFrames(of: rig.callee).types == ["offer"])
        #expect(rig.world.record("c-1")?.epoch == 2)
    }

    @Test("A refusal that shows nothing looks like an ordinary ring to the caller")
    func hidden() throws {
        let rig = try DecisionRig()
        rig.respond(try rig.offer(), #"{"allow":false,"show":"nothing","code":"blocked"}"#)
        #expect(rig.world.takeFrames(of: rig.caller).ack?["callId"] == "c-1")
        #expect(rig.world.takeFrames(of: rig.callee).isEmpty && rig.world.pushes.isEmpty)
        #expect(rig.world.record("c-1")?.hidden == .app)
        #expect(try rig.verdict().contains("refused the call (blocked) after 0 ms without telling the caller"))
        rig.world.wait(60)
        #expect(rig.world.record("c-1")?.reason == .unanswered)
        let history = try rig.world.reply(try principal("10"), .calls(.history(limit: 10, before: nil)))
        #expect(String(decoding: history.body, as: UTF8.self).contains(#""direction":"missed""#), "as with a block")
    }

    @Test(
        "Without a usable decision --decide-failure decides, and explain says why",
        arguments: [
            (DecisionResult.unreachable("no route"), "could not be reached, or failed, after 0 ms"),
            (.response(status: 500, body: []), "could not be reached, or failed, after 0 ms"),
            (.response(status: 302, body: []), "gave a response after 0 ms that the protocol does not know"),
            (.response(status: 204, body: []), "gave a response after 0 ms that the protocol does not know"),
            (.response(status: 200, body: Array("{}".utf8)), "gave a response after 0 ms that the protocol does not"),
        ],
        DecisionPolicy.Failure.allCases
    )
    func failure(_ result: (DecisionResult, String), _ failure: DecisionPolicy.Failure) throws {
        let rig = try DecisionRig(failure)
        rig.world.give(.decided(try rig.offer().id, result.0))
        let shown = rig.world.takeFrames(of: rig.callee)
        let told = try #require(rig.world.takeFrames(of: rig.caller).last)
        let verdict = try rig.verdict()
        #expect(verdict.contains("The app's backend \(result.1)"), "\(verdict)")
        switch failure {
        case .allow:
            #expect(shown.types == ["offer"] && told["type"] == "ack")
            #expect(verdict.contains("the call was allowed, as --decide-failure says"))
        case .refuse:
            #expect(shown.isEmpty && told["code"] == "decision_unavailable" && told["retryAfter"] == "1")
            #expect(verdict.contains("the call was refused, as --decide-failure says"))
        }
    }

    @Test("A backend that does not respond in time decides nothing, and its late response changes nothing")
    func late() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        rig.world.wait(1)
        #expect(rig.world.takeFrames(of: rig.caller).ack?["callId"] == "c-1")
        #expect(try rig.verdict().contains("did not decide within 1.00 s: the call was allowed"))
        rig.clear()
        rig.respond(question, #"{"allow":false}"#)
        rig.respond(question, #"{"allow":false,"show":"nothing"}"#)
        #expect(rig.world.takeFrames(of: rig.caller).isEmpty && rig.world.takeFrames(of: rig.callee).isEmpty)
        #expect(rig.world.switchboard.metrics.decisions.ignoredResults == 2)
        #expect(rig.world.switchboard.countCalls()[.ringing] == 1)
    }

    @Test("What Ringline refuses or hides by itself asks nobody")
    func asksNobody() throws {
        let rig = try DecisionRig(.allow) { $0.whenBusy = .busy }
        _ = try rig.world.reply(try principal("10"), .blocks(.block(try user("11"))))
        rig.world.send(rig.caller, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(rig.world.questions.isEmpty && rig.world.record("c-1")?.hidden == .block)
        let other = try rig.world.open("12", "d1")
        rig.world.send(other, SwitchboardWorld.offer("c-2", to: "10"))
        rig.respond(try #require(rig.world.questions.last), #"{"allow":true}"#)
        rig.world.send(rig.callee, SwitchboardWorld.answer("c-2"))
        // A renegotiation, a resend, and a call to a user who is in a call.
        rig.world.send(other, SwitchboardWorld.plain("offer", "c-2", id: "r", more: #","sdp":"v=0\r\ns=2\r\n""#))
        rig.world.send(other, SwitchboardWorld.offer("c-2", to: "10"))
        rig.world.send(try rig.world.open("13", "e1"), SwitchboardWorld.offer("c-3", to: "10"))
        #expect(rig.world.questions.count == 1)
    }

    @Test("A shutdown refuses the offers that wait, and a client sends them again to the next run")
    func drained() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        let request = rig.world.request(
            try principal("11"),
            .signal(
                try SignalMessage(
                    body: Array(#"{"action":"offer","callId":"c-2","to":"10","data":{"sdp":"v=0\r\n"}}"#.utf8),
                    callIDInPath: nil,
                    ringTimeout: rig.world.policy.ringTimeout
                )
            )
        )
        rig.world.give(.drain)
        rig.world.wait(0)
        #expect(rig.world.replies[request]?.status == 503)
        rig.respond(question, #"{"allow":true}"#)
        #expect(rig.world.record("c-1") == nil && rig.world.record("c-2") == nil)
    }

    @Test("The offer of a connection that has gone begins no call; its resend on the next connection does")
    func connectionGone() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        rig.world.give(.closed(rig.caller))
        let next = try rig.world.open("11", "a1")
        rig.world.send(next, SwitchboardWorld.offer("c-1", to: "10"))
        #expect(rig.world.questions.count == 1)
        rig.respond(question, #"{"allow":true}"#)
        #expect(rig.world.takeFrames(of: next).ack?["callId"] == "c-1")
        #expect(rig.world.takeFrames(of: rig.callee).types == ["offer"])
    }

    @Test("A call that replaces another one is decided first; until then the other one goes on")
    func replacement() throws {
        let rig = try DecisionRig()
        rig.respond(try rig.offer(), #"{"allow":true}"#)
        rig.clear()
        rig.world.send(rig.caller, DecisionRig.newOffer)
        let question = try #require(rig.world.questions.last)
        #expect(rig.world.switchboard.countCalls()[.ringing] == 1 && rig.world.takeFrames(of: rig.callee).isEmpty)
        rig.world.send(rig.caller, SwitchboardWorld.ice("c-1", id: "i1"))
        rig.respond(question, #"{"allow":false}"#)
        #expect(rig.world.switchboard.countCalls()[.ringing] == 1, "the refused offer replaces nothing")
    }

    @Test("Under the busy policy, a call that replaces the answered call of the same two users is decided, too")
    func replacementOfBusy() throws {
        let rig = try DecisionRig(.allow) { $0.whenBusy = .busy }
        rig.respond(try rig.offer(), #"{"allow":true}"#)
        rig.world.send(rig.callee, SwitchboardWorld.answer("c-1"))
        rig.world.send(rig.caller, DecisionRig.newOffer)
        #expect(rig.world.questions.count == 2)
        rig.respond(rig.world.questions[1], #"{"allow":false}"#)
        #expect(rig.world.switchboard.countCalls()[.answered] == 1, "the refused offer replaces nothing")
    }

    @Test("An end ends the call that the undecided offer was about to replace, too")
    func endOfReplacement() throws {
        let rig = try DecisionRig()
        rig.respond(try rig.offer(), #"{"allow":true}"#)
        rig.world.send(rig.caller, DecisionRig.newOffer)
        rig.clear()
        rig.world.send(rig.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        #expect(rig.world.takeFrames(of: rig.caller).ack?["id"] == "e")
        #expect(rig.world.switchboard.countCalls()[.ringing] == 0)
        rig.respond(rig.world.questions[1], #"{"allow":true}"#)
        #expect(rig.world.switchboard.countCalls()[.ringing] == 0)
    }

    @Test("An app that reports a call it has just begun gets its record as soon as the offer is decided")
    func justBegun() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        let request = rig.world.request(try principal("11"), .calls(.justBegun(with: try user("10"))))
        #expect(rig.world.replies[request] == nil)
        rig.respond(question, #"{"allow":true}"#)
        #expect(rig.world.replies[request]?.status == 200 && rig.world.replies[request]?["callId"] == "c-1")
    }

    @Test("A request that has waited for a decision counts once for the rate of its user")
    func countedOnce() throws {
        let rig = try DecisionRig { $0.signalBurst = 1 }
        let body = #"{"action":"offer","callId":"c-1","to":"10","data":{"sdp":"v=0\r\n"}}"#
        let message = try SignalMessage(
            body: Array(body.utf8),
            callIDInPath: nil,
            ringTimeout: rig.world.policy.ringTimeout
        )
        let request = rig.world.request(try principal("11"), .signal(message))
        rig.respond(try #require(rig.world.questions.first), #"{"allow":true}"#)
        #expect(rig.world.replies[request]?.status == 200)
    }

    @Test("With --caller-name decision the name and the handle are the backend's alone")
    func callerName() throws {
        let rig = try DecisionRig(.allow) { $0.callerName = .decision }
        let more = #","displayName":"Mallory","handle":"+1","handleType":"phoneNumber""#
        rig.respond(try rig.offer(more: more), #"{"allow":true}"#)
        let first = try #require(rig.world.takeFrames(of: rig.callee).first)
        #expect(first["displayName"] == nil && first["handle"] == nil)
        rig.respond(try rig.offer("c-2", id: "o2", more: more), #"{"allow":true,"displayName":"Dr Kim"}"#)
        #expect(rig.world.takeFrames(of: rig.callee).of("offer").first?["displayName"] == "Dr Kim")
        let kim = #"{"allow":true,"handle":"+822","handleType":"phoneNumber"}"#
        rig.respond(try rig.offer("c-3", id: "o3", more: #","handle":"bank""#), kim)
        #expect(rig.world.takeFrames(of: rig.callee).of("offer").first?["handle"] == "+822")
    }

    @Test("The backend is told the members of the token that were asked for")
    func claims() throws {
        let rig = try DecisionRig()
        var nurse = try principal("12")
        nurse.claims = Array(#""role":"nurse""#.utf8)
        rig.world.send(rig.world.connect(nurse, device: "n1"), SwitchboardWorld.offer("c-1", to: "10"))
        let question = try #require(rig.world.questions.first)
        #expect(String(decoding: question.body, as: UTF8.self).hasSuffix(#""token":{"role":"nurse"}}"#))
    }

    @Test("Members of a response that the protocol does not know are reported once, and change nothing")
    func unknownMembers() throws {
        let rig = try DecisionRig()
        rig.respond(try rig.offer(), #"{"allow":true,"displayname":"Dr Kim"}"#)
        #expect(rig.world.record("c-1")?.displayName == "Name of 11")
        #expect(rig.world.notes.contains(.unknownName("displayname", .decision)))
    }
}
