import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The signals of a call that the app's backend has not decided")
struct DecisionSignalTests {
    @Test("Candidates and other signals wait for the decision, and come to the callee behind the offer in their order")
    func signalsWait() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        for name in ["i1", "i2", "i3"] { rig.world.send(rig.caller, SwitchboardWorld.ice("c-1", id: name)) }
        #expect(rig.world.takeFrames(of: rig.caller).isEmpty)
        rig.respond(question, #"{"allow":true}"#)
        #expect(rig.world.takeFrames(of: rig.callee).types == ["offer", "ice", "ice", "ice"])
        #expect(rig.world.takeFrames(of: rig.caller).of("ack").map { $0["id"] } == ["o", "i1", "i2", "i3"])
    }

    @Test("A refused offer refuses the signals that have waited behind it")
    func signalsOfRefused() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        rig.world.send(rig.caller, SwitchboardWorld.ice("c-1", id: "i1"))
        rig.respond(question, #"{"allow":false}"#)
        let told = rig.world.takeFrames(of: rig.caller)
        #expect(told.types == ["error", "error"] && told.last?["code"] == "not_found")
    }

    @Test("At most so many signals wait for one decision")
    func tooManySignals() throws {
        let rig = try DecisionRig(.allow) { $0.signalBurst = 1_000 }
        try rig.offer()
        for number in 0...CallDecisions.waitingPerQuestion {
            rig.world.send(rig.caller, SwitchboardWorld.ice("c-1", id: "i\(number)"))
        }
        let told = rig.world.takeFrames(of: rig.caller)
        #expect(told.count == 1 && told.first?["code"] == "rate_limited")
    }

    @Test("Repeated offers are bounded as other signals are")
    func tooManyOffers() throws {
        let rig = try DecisionRig(.allow) { $0.signalBurst = 1_000 }
        try rig.offer()
        for number in 0...CallDecisions.waitingPerQuestion {
            rig.world.send(rig.caller, SwitchboardWorld.offer("c-1", to: "10", id: "o\(number)"))
        }
        let told = rig.world.takeFrames(of: rig.caller)
        #expect(told.count == 1 && told.first?["code"] == "rate_limited")
    }

    @Test("A late copy of a withdrawn offer does not ring, and the next call under the same callId does")
    func copyOfWithdrawn() throws {
        let rig = try DecisionRig()
        try rig.offer()
        rig.world.send(rig.caller, SwitchboardWorld.plain("end", "c-1", id: "e"))
        rig.world.wait(0)
        rig.clear()
        rig.world.send(rig.caller, SwitchboardWorld.offer("c-1", to: "10", id: "copy"))
        #expect(rig.world.takeFrames(of: rig.caller).first?["code"] == "call_ended")
        #expect(rig.world.questions.count == 1)
        rig.world.send(rig.caller, DecisionRig.newOffer)
        #expect(rig.world.questions.count == 2)
    }

    @Test("The offer of another device under the same callId is asked about for itself")
    func otherDevice() throws {
        let rig = try DecisionRig()
        let question = try rig.offer()
        let other = try rig.world.open("11", "a2")
        rig.world.send(other, SwitchboardWorld.offer("c-1", to: "10", id: "o", sdp: "v=0\\r\\ns=2\\r\\n"))
        rig.world.give(.closed(rig.caller))
        rig.respond(question, #"{"allow":true}"#)
        #expect(rig.world.questions.count == 2 && rig.world.takeFrames(of: rig.callee).isEmpty)
    }

    @Test("An end withdraws the offer, whichever way it names the call: nothing rings")
    func withdrawn() throws {
        for end in [#","callId":"c-1""#, #","to":"10""#, #","callId":"c-1","to":"10""#] {
            let rig = try DecisionRig()
            let question = try rig.offer()
            rig.world.send(rig.caller, #"{"type":"end","id":"e"\#(end)}"#)
            rig.world.wait(0)
            let told = rig.world.takeFrames(of: rig.caller)
            #expect(told.map { $0["code"] } == ["call_ended", "call_ended"] && told.map { $0["id"] } == ["e", "o"])
            rig.respond(question, #"{"allow":true}"#)
            #expect(rig.world.takeFrames(of: rig.caller).isEmpty && rig.world.takeFrames(of: rig.callee).isEmpty)
            #expect(rig.world.pushes.isEmpty && rig.world.record("c-1") == nil)
            #expect(rig.world.switchboard.metrics.decisions.outcomes == [.withdrawn: 1])
        }
    }

    @Test("A resend of an offer that waits is no second question, and gets the same ack or refusal")
    func resent() throws {
        for (body, types) in [(#"{"allow":true}"#, ["ack", "ack"]), (#"{"allow":false}"#, ["error", "error"])] {
            let rig = try DecisionRig()
            let question = try rig.offer()
            rig.world.send(rig.caller, SwitchboardWorld.offer("c-1", to: "10"))
            #expect(rig.world.questions.count == 1)
            rig.respond(question, body)
            let told = rig.world.takeFrames(of: rig.caller)
            #expect(told.types.filter { $0 != "call" } == types, "\(told)")
            #expect(rig.world.changes.count { if case .call = $0 { true } else { false } } == 1)
        }
    }

    @Test("A resend without a callId finds the question of its first arrival by its id")
    func resentWithoutCallID() throws {
        let rig = try DecisionRig()
        let offer = #"{"type":"offer","id":"o","to":"10","sdp":"v=0\r\n"}"#
        rig.world.send(rig.caller, offer)
        rig.world.send(rig.caller, offer)
        #expect(rig.world.questions.count == 1)
        rig.respond(rig.world.questions[0], #"{"allow":true}"#)
        let acks = rig.world.takeFrames(of: rig.caller).of("ack")
        #expect(acks.count == 2 && acks[0]["callId"] == acks[1]["callId"])
    }
}
