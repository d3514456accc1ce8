import CallCore
import Testing

@Suite("The end of a call")
struct EndTests {
    private static let wishes: [EndReason?] = [nil] + EndReason.allCases

    @Test("Before the answer, the caller's end cancels the call, unless its reason is `failed`", arguments: wishes)
    func byCallerRinging(_ wish: EndReason?) throws {
        var bench = try CallBench(callees: [try device("b1")])
        let ended = try bench.send(.end(wish), .caller, bench.caller).ended
        #expect(ended?.reason == (wish == .failed ? .failed : .cancelled))
    }

    @Test("Before the answer, a callee's end is a decline, unless its reason is `busy` or `failed`", arguments: wishes)
    func byCalleeRinging(_ wish: EndReason?) throws {
        let callee = try device("b1")
        var bench = try CallBench(callees: [callee])
        let ended = try bench.send(.end(wish), .callee, callee).ended
        #expect(ended?.reason == (wish == .failed ? .failed : wish == .busy ? .busy : .declined))
    }

    @Test(
        "After the answer, an end by either side is a hangup, unless it is `failed` or `disconnected`",
        arguments: wishes
    )
    func answered(_ wish: EndReason?) throws {
        let callee = try device("b1")
        for side in Side.allCases {
            for isActive in [false, true] {
                var bench = try isActive ? CallBench.active(with: callee) : CallBench.answered(by: callee)
                let ended = try bench.send(.end(wish), side, side == .caller ? bench.caller : callee).ended
                let own = [.failed, .disconnected].contains(wish) ? wish : .hangup
                #expect(ended?.reason == own, "\(side), active: \(isActive)")
            }
        }
    }

    @Test("An end is relayed to the other side, and the change of state goes to both sides")
    func relayed() throws {
        let callee = try device("b1")
        var bench = try CallBench.active(with: callee)
        let out = try bench.send(.end(nil), .callee, callee)
        #expect(out.entries.map(\.audience) == [.caller, .both])
        #expect(out.acknowledged?.isNew == true)
        #expect(!bench.session.isLive)
    }

    @Test("If one device of the callee declines, the callee's other devices see that the call was declined elsewhere")
    func declinedElsewhere() throws {
        let (b1, b2, b3) = (try device("b1"), try device("b2"), try device("b3"))
        var bench = try CallBench(callees: [b1, b2, b3])
        let out = try bench.send(.end(nil), .callee, b2)
        #expect(out.contains(.stopRinging))
        #expect(bench.endings(.caller, bench.caller) == [.declined])
        #expect(bench.endings(.callee, b2) == [.declined])
        #expect(bench.endings(.callee, b1) == [.declinedElsewhere])
        #expect(bench.endings(.callee, b3) == [.declinedElsewhere])
        #expect(bench.session.visibleState(side: .callee, device: b1).reason == .declinedElsewhere)
        #expect(bench.session.visibleState(side: .callee, device: b2).reason == .declined)
        #expect(bench.session.visibleState(side: .caller, device: bench.caller).reason == .declined)
    }

    @Test("A decline by the callee's only device notifies no other device")
    func declinedAlone() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        #expect(try bench.send(.end(nil), .callee, b1).changes.map(\.reason) == [.declined])
    }

    @Test("An end by a device that was never notified of the call ends it for all devices")
    func declinedByOutsider() throws {
        let (b1, late) = (try device("b1"), try device("late"))
        var bench = try CallBench(callees: [b1])
        try bench.send(.end(.busy), .callee, late)
        #expect(bench.endings(.callee, b1) == [.declinedElsewhere])
        #expect(bench.endings(.caller, bench.caller) == [.busy])
    }

    @Test("An end by the caller reaches every device that was rung, with the same reason")
    func cancelled() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1, b2])
        try bench.send(.end(nil), .caller, bench.caller)
        for device in [b1, b2] { #expect(bench.endings(.callee, device) == [.cancelled]) }
    }

    @Test("An end that is resent under its id gets the same `seq`, and an end under another id is refused")
    func again() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        let first = try bench.send(.end(nil), .callee, b1, id: "e")
        let again = try bench.send(.end(nil), .callee, b1, id: "e")
        #expect(again.isOnlyRepeat)
        #expect(again.acknowledged?.seq == first.acknowledged?.seq)
        #expect(try bench.send(.end(nil), .callee, b1, id: "f") == [.refuse(.callEnded)])
        #expect(try bench.send(.end(nil), .caller, bench.caller) == [.refuse(.callEnded)])
    }

    @Test("An end by a device that lost the call is acknowledged and has no effect, also after the call is over")
    func lateDecline() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench.answered(by: b1, others: [b2])
        let out = try bench.send(.end(nil), .callee, b2)
        #expect(out.acknowledged?.seq == 0)
        #expect(out.entries.isEmpty && out.refusal == nil)
        #expect(bench.session.state == .answered)
        try bench.send(.end(nil), .caller, bench.caller)
        let late = try bench.send(.end(nil), .callee, b2)
        #expect(late.isOnlyRepeat)
        #expect(try bench.send(.end(nil), .callee, b1) == [.refuse(.callEnded)])
    }

    @Test("A notice to a device that sent an end itself is due until the device's connection knows of the end")
    func ownEnd() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        for isLate in [false, true] {
            var bench = try isLate ? CallBench.answered(by: b1, others: [b2]) : CallBench(callees: [b1, b2])
            try bench.send(.end(nil), .callee, b2)
            #expect(bench.session.hasUndeliveredEnd(to: b2, side: .callee))
            #expect(bench.give(.endDelivered(b2, .callee)) == [.changed])
            #expect(!bench.session.hasUndeliveredEnd(to: b2, side: .callee))
        }
    }

    @Test("An end by another device of the caller does not end an answered call")
    func callersOtherDevice() throws {
        var bench = try CallBench.answered(by: try device("b1"))
        #expect(try bench.send(.end(nil), .caller, try device("a2")).entries.isEmpty)
        #expect(bench.session.isLive)
    }

    @Test("A lost glare ends the call only while it rings, and the end names the call that won")
    func glare() throws {
        let winner = try call("a")
        var bench = try CallBench(callees: [try device("b1")])
        let ended = bench.give(.lostGlare(to: winner)).ended
        #expect(ended?.reason == .glare)
        #expect(ended?.replacedBy == winner)
        #expect(bench.give(.lostGlare(to: winner)) == [])
        var answered = try CallBench.answered(by: try device("b1"))
        #expect(answered.give(.lostGlare(to: winner)) == [])
        #expect(answered.give(.foundBusy) == [])
    }

    @Test("The end of a call to a busy callee reaches the caller alone")
    func busy() throws {
        var bench = try CallBench(reachesCallee: false)
        let out = bench.give(.foundBusy)
        #expect(out.ended?.reason == .busy)
        #expect(out.entries.map(\.audience) == [.caller])
        #expect(bench.shown(.callee, try device("b1")).isEmpty)
    }

    @Test("A live call is replaced once, whether it rings, is answered or is active")
    func replaced() throws {
        let b1 = try device("b1")
        for start in [try CallBench(callees: [b1]), try CallBench.answered(by: b1), try CallBench.active(with: b1)] {
            var bench = start
            #expect(bench.give(.replaced).ended?.reason == .replaced)
            #expect(bench.give(.replaced) == [])
        }
    }
}

@Suite("A glare")
struct GlareTests {
    @Test("The call whose callId comes first in byte order wins, whichever side asks")
    func winner() throws {
        for (a, b, winner) in [("a", "b", "a"), ("10-11", "11-10", "10-11"), ("B", "a", "B"), ("9", "10", "10")] {
            #expect(Glare.winner(try call(a), try call(b)).text == winner)
            #expect(Glare.winner(try call(b), try call(a)).text == winner)
        }
        #expect(Glare.winner(try call("a"), try call("a")).text == "a")
    }
}
