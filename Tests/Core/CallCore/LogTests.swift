import CallCore
import Testing

@Suite("A call's log")
struct LogTests {
    @Test("A log begins with the offer and the change to ringing, numbered from 1")
    func beginning() throws {
        let bench = try CallBench(callees: [try device("b1")])
        #expect(bench.session.log.map(\.seq) == [1, 2])
        #expect(bench.session.log.map(\.audience) == [.callee, .caller])
        #expect(bench.session.lastSeq == 2)
        #expect(bench.session.state == .ringing)
        #expect(bench.out.acknowledged?.seq == 1)
    }

    @Test("A log begins above every `seq` that a crash may have lost")
    func firstSeq() throws {
        #expect(try CallBench(firstSeq: 1_025).session.log.map(\.seq) == [1_025, 1_026])
    }

    @Test("A signal that is sent again under its id is logged once")
    func sameID() throws {
        var bench = try CallBench(callees: [try device("b1")])
        let first = try bench.send(.ice, .caller, bench.caller, id: "x")
        bench.wait(5)
        let before = bench.session
        let again = try bench.send(.ice, .caller, bench.caller, id: "x")
        #expect(again.isOnlyRepeat)
        #expect(again.acknowledged?.seq == first.acknowledged?.seq)
        #expect(bench.session == before)
        #expect(bench.session.hasAccepted(try signalID("x"), .ice, from: bench.caller, on: .caller))
    }

    @Test("Two devices may use the same id for different signals")
    func idsPerDevice() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1, b2])
        try bench.send(.ringing, .callee, b1, id: "x")
        #expect(try bench.send(.ringing, .callee, b2, id: "x").acknowledged?.isNew == true)
    }

    @Test("The two users' devices may use the same id for different signals, even if their device ids are equal")
    func idsPerUser() throws {
        let (mine, theirs) = (try device("iphone", fingerprint: 1), try device("iphone", fingerprint: 2))
        let one = try signalID("1")
        var bench = try CallBench(callees: [theirs], caller: mine, firstID: one)
        let out = try bench.send(.answer(digest: 2), .callee, theirs, id: "1")
        #expect(out.acknowledged?.isNew == true)
        #expect(bench.session.state == .answered)
    }

    @Test("A late decline counts for the callee's device, even if the caller's device has the same device id")
    func legsPerUser() throws {
        let (mine, theirs, answeringDevice) = (
            try device("iphone", fingerprint: 1), try device("iphone", fingerprint: 2), try device("ipad")
        )
        var bench = try CallBench(callees: [theirs, answeringDevice], caller: mine)
        try bench.send(.answer(digest: 2), .callee, answeringDevice)
        try bench.send(.end(nil), .callee, theirs)
        #expect(bench.session.legs[0].phase == .answered)
        #expect(bench.session.legs[1].phase == .endNotDelivered)
        bench.give(.gone(mine, .caller))
        #expect(bench.session.deadline == bench.now + .seconds(30))
    }

    @Test("A signal is logged once if it comes by a socket and by a request under the same token")
    func sameToken() throws {
        let (named, nameless) = (
            try device("iphone", fingerprint: 5), DeviceIdentity(unnamed: TokenFingerprint(rawValue: 5))
        )
        for (first, second) in [(named, nameless), (nameless, named)] {
            var bench = try CallBench(callees: [first])
            let taken = try bench.send(.info, .callee, first, id: "x")
            let again = try bench.send(.info, .callee, second, id: "x")
            #expect(again.isOnlyRepeat)
            #expect(again.acknowledged?.seq == taken.acknowledged?.seq)
        }
    }

    @Test("A signal for another epoch is refused, unless its id was accepted before")
    func epochs() throws {
        var bench = try CallBench(epoch: 3, callees: [try device("b1")])
        #expect(try bench.send(.ice, .caller, bench.caller, id: "x", epoch: 2) == [.refuse(.callEnded)])
        #expect(try bench.send(.end(nil), .caller, bench.caller, epoch: 4) == [.refuse(.unknownEpoch)])
        #expect(bench.session.isLive)
        #expect(try bench.send(.ice, .caller, bench.caller, id: "x", epoch: 3).acknowledged?.isNew == true)
        #expect(try bench.send(.ice, .caller, bench.caller, id: "x", epoch: 2).isOnlyRepeat)
    }

    @Test("An answered call's log holds 512 entries; further signals are refused, but an end still fits")
    func fullByCount() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        while bench.session.log.count < Limits.logSignals { try bench.send(.ice, .caller, bench.caller) }
        let before = bench.session
        for kind in [Signal.Content.ice, .info, .update(.init(hold: true)), .offer(offer(9)), .connected] {
            #expect(try bench.send(kind, .caller, bench.caller) == [.refuse(.logFull)])
        }
        #expect(bench.session == before)
        let out = try bench.send(.end(nil), .callee, b1)
        #expect(out.acknowledged?.isNew == true)
        #expect(out.ended?.reason == .hangup)
    }

    @Test("An answered call's log holds 512 KiB of signals, to the byte, and an end still fits")
    func fullByBytes() throws {
        var bench = try CallBench.answered(by: try device("b1"))
        try bench.send(.info, .caller, bench.caller, bytes: Limits.logBytes - 100 - 10 - 1)
        #expect(try bench.send(.info, .caller, bench.caller, bytes: 2) == [.refuse(.logFull)])
        #expect(try bench.send(.info, .caller, bench.caller, bytes: 1).acknowledged?.isNew == true)
        #expect(try bench.send(.info, .caller, bench.caller, bytes: 1) == [.refuse(.logFull)])
        #expect(try bench.send(.end(nil), .caller, bench.caller, bytes: 60_000).ended?.reason == .hangup)
    }

    @Test("Before the answer a log holds 64 signals besides the first offer, ringing and answer")
    func fullByCountWhileRinging() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        for _ in 0..<64 { #expect(try bench.send(.ice, .caller, bench.caller).acknowledged?.isNew == true) }
        let before = bench.session
        for kind in [Signal.Content.ice, .info, .update(.init(hold: true)), .offer(offer(9)), .connected] {
            #expect(try bench.send(kind, .caller, bench.caller) == [.refuse(.logFull)])
        }
        #expect(bench.session == before)
        // The caller must not be able to keep the callee from ringing and answering.
        #expect(try bench.send(.ringing, .callee, b1).acknowledged?.isNew == true)
        #expect(try bench.send(.answer(digest: 2), .callee, b1).acknowledged?.isNew == true)
        #expect(try bench.send(.ice, .caller, bench.caller).acknowledged?.isNew == true)
    }

    @Test("Before the answer a log holds 64 KiB besides the first offer, to the byte, and an end still fits")
    func fullByBytesWhileRinging() throws {
        var bench = try CallBench(callees: [try device("b1")])
        try bench.send(.info, .caller, bench.caller, bytes: Limits.earlyBytes - 1)
        #expect(try bench.send(.info, .caller, bench.caller, bytes: 2) == [.refuse(.logFull)])
        #expect(try bench.send(.offer(offer(9)), .caller, bench.caller, bytes: 2) == [.refuse(.logFull)])
        #expect(try bench.send(.info, .caller, bench.caller, bytes: 1).acknowledged?.isNew == true)
        #expect(try bench.send(.end(nil), .caller, bench.caller, bytes: 60_000).ended?.reason == .cancelled)
    }

    @Test("Signals from before a restart count towards the limit before the answer")
    func fullWhileRingingAfterRestart() throws {
        var bench = try CallBench(callees: [try device("b1")])
        for _ in 0..<64 { try bench.send(.ice, .caller, bench.caller) }
        bench.session = try #require(bench.restarted())
        #expect(try bench.send(.ice, .caller, bench.caller) == [.refuse(.logFull)])
    }

    @Test("A call with a full log still ends at its ring timeout")
    func fullAndServer() throws {
        var bench = try CallBench(callees: [try device("b1")])
        for _ in 0...Limits.earlySignals { try bench.send(.ice, .caller, bench.caller) }
        #expect(try bench.send(.ice, .caller, bench.caller) == [.refuse(.logFull)])
        #expect(try bench.letTimePass().ended?.reason == .unanswered)
    }

    @Test("A full log refuses the answer to a renegotiation, which stays unanswered")
    func fullAndAnswer() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        try bench.send(.offer(offer(9)), .caller, bench.caller)
        while bench.session.log.count < Limits.logSignals { try bench.send(.ice, .caller, bench.caller) }
        #expect(try bench.send(.answer(digest: 3), .callee, b1) == [.refuse(.logFull)])
        #expect(bench.session.unansweredOffers == [.caller])
    }

    @Test("An offer that is sent again under thousands of ids is logged once")
    func manyNames() throws {
        var bench = try CallBench(callees: [try device("b1")])
        for index in 0..<5_000 {
            let out = try bench.send(.offer(offer(1)), .caller, bench.caller, id: "n\(index)")
            #expect(out.acknowledged?.seq == 1)
        }
        #expect(bench.session.log.count == 2)
    }

    @Test("The number of devices in a call is limited, and a device beyond the limit can still answer")
    func manyDevices() throws {
        var bench = try CallBench()
        for index in 0..<200 { bench.give(.notified(try device("b\(index)"))) }
        #expect(bench.session.legs.count == Limits.legs)
        let late = try device("late")
        try bench.send(.answer(digest: 2), .callee, late)
        #expect(bench.session.answeringDevice == late)
        #expect(bench.endings(.callee, late).isEmpty)
    }
}
