import CallCore
import Testing

@Suite("A renegotiation")
struct RenegotiationTests {
    @Test("Either side offers a renegotiation, and only the other side can answer it")
    func plain() throws {
        let b1 = try device("b1")
        for side in Side.allCases {
            var bench = try CallBench.active(with: b1)
            let (mine, theirs) = side == .caller ? (bench.caller, b1) : (b1, bench.caller)
            #expect(try bench.send(.offer(offer(10)), side, mine).acknowledged?.isNew == true)
            #expect(bench.session.unansweredOffers == [side])
            #expect(try bench.send(.answer(digest: 11), side, mine) == [.refuse(.alreadyAnswered)])
            #expect(try bench.send(.answer(digest: 11), side.other, theirs).acknowledged?.isNew == true)
            #expect(bench.session.unansweredOffers.isEmpty)
            #expect(bench.session.state == .active)
        }
    }

    @Test("The same offer twice is one renegotiation, and the same answer twice is one answer")
    func twice() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        let first = try bench.send(.offer(offer(10)), .callee, b1)
        #expect(try bench.send(.offer(offer(10)), .callee, b1).acknowledged?.seq == first.acknowledged?.seq)
        let answer = try bench.send(.answer(digest: 11), .caller, bench.caller)
        let again = try bench.send(.answer(digest: 11), .caller, bench.caller)
        #expect(again.isOnlyRepeat)
        #expect(again.acknowledged?.seq == answer.acknowledged?.seq)
    }

    @Test("When both sides renegotiate at the same time, the callee's answer withdraws the callee's own offer")
    func polite() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        try bench.send(.offer(offer(10)), .caller, bench.caller)
        try bench.send(.offer(offer(20)), .callee, b1)
        #expect(bench.session.unansweredOffers == [.caller, .callee])
        try bench.send(.answer(digest: 11), .callee, b1)
        #expect(bench.session.unansweredOffers.isEmpty)
        #expect(try bench.send(.answer(digest: 21), .caller, bench.caller) == [.refuse(.alreadyAnswered)])
    }

    @Test("When both sides renegotiate at the same time, the caller's answer leaves the caller's own offer open")
    func impolite() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        try bench.send(.offer(offer(20)), .callee, b1)
        try bench.send(.offer(offer(10)), .caller, bench.caller)
        try bench.send(.answer(digest: 21), .caller, bench.caller)
        #expect(bench.session.unansweredOffers == [.caller])
        #expect(try bench.send(.answer(digest: 11), .callee, b1).acknowledged?.isNew == true)
    }

    @Test("The caller's renegotiation decides whether the call has video; the callee's does not")
    func video() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        try bench.send(.offer(offer(20, hasVideo: true)), .callee, b1)
        #expect(!bench.session.hasVideo)
        try bench.send(.offer(offer(10, hasVideo: true)), .caller, bench.caller)
        #expect(bench.session.hasVideo)
    }

    @Test("Only the two devices in the call can renegotiate")
    func foreign() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench.answered(by: b1, others: [b2])
        #expect(try bench.send(.offer(offer(10)), .callee, b2) == [.refuse(.alreadyAnswered)])
        #expect(try bench.send(.offer(offer(10)), .caller, try device("a2")).refusal != nil)
        #expect(bench.session.unansweredOffers.isEmpty)
    }

    @Test("The end of the call also ends its unanswered renegotiation")
    func ended() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        try bench.send(.offer(offer(10)), .caller, bench.caller)
        try bench.send(.end(nil), .caller, bench.caller)
        #expect(bench.session.unansweredOffers.isEmpty)
        #expect(try bench.send(.answer(digest: 11), .callee, b1) == [.refuse(.callEnded)])
    }
}

@Suite("An offer under the callId of an existing call")
struct ReplacementTests {
    private func replaces(_ bench: CallBench, _ offer: Offer, _ side: Side, _ device: DeviceIdentity) -> Bool {
        bench.session.isReplaced(by: offer, from: side, device)
    }

    @Test("While the call rings, an offer without `begin` begins no new call")
    func ringing() throws {
        let bench = try CallBench(callees: [try device("b1")])
        #expect(!replaces(bench, offer(9, namesCallee: true), .caller, bench.caller))
        #expect(try !replaces(bench, offer(9, namesCallee: true), .caller, device("a2")))
        #expect(try !replaces(bench, offer(9), .callee, device("b1")))
    }

    @Test("An offer with `begin` begins a new call if it comes from a device in the answered call")
    func begins() throws {
        let bench = try CallBench.answered(by: try device("b1"))
        var new = offer(9)
        #expect(!replaces(bench, new, .caller, bench.caller))
        new.begins = true
        #expect(replaces(bench, new, .caller, bench.caller))
        #expect(try replaces(bench, new, .callee, device("b1")))
        #expect(try !replaces(bench, new, .callee, device("b2")))
        // This is a late repeat of the first offer.
        var first = offer(1)
        first.begins = true
        #expect(!replaces(bench, first, .caller, bench.caller))
    }

    @Test("After the call has ended, an offer begins a new call")
    func ended() throws {
        var bench = try CallBench.answered(by: try device("b1"))
        try bench.send(.end(nil), .caller, bench.caller)
        #expect(replaces(bench, offer(1), .caller, bench.caller))
        #expect(try replaces(bench, offer(9), .callee, device("b1")))
    }

    @Test("An offer in an answered call renegotiates it; from the caller's other device it begins a new call")
    func answered() throws {
        let bench = try CallBench.active(with: try device("b1"))
        #expect(!replaces(bench, offer(9, namesCallee: true), .caller, bench.caller))
        #expect(try replaces(bench, offer(9), .caller, device("a2")))
        #expect(try !replaces(bench, offer(1), .caller, device("a2")), "the same description is the same signal")
        #expect(try !replaces(bench, offer(9), .callee, device("b2")))
    }

    @Test("An offer from a caller without a device id begins a new call only if it names the callee")
    func nameless() throws {
        let nameless = DeviceIdentity(unnamed: TokenFingerprint(rawValue: 5))
        var bench = try CallBench(callees: [try device("b1")], caller: nameless)
        try bench.send(.answer(digest: 2), .callee, try device("b1"))
        #expect(!replaces(bench, offer(9), .caller, nameless))
        #expect(replaces(bench, offer(9, namesCallee: true), .caller, nameless))
        #expect(!replaces(bench, offer(1, namesCallee: true), .caller, nameless))
    }
}
