import CallCore
import Testing

@Suite("An answer")
struct AnswerTests {
    @Test("The first answer wins, and the callee's other devices see that another device answered")
    func first() throws {
        let (b1, b2, b3) = (try device("b1"), try device("b2"), try device("b3"))
        var bench = try CallBench(callees: [b1, b2, b3])
        let out = try bench.send(.answer(digest: 2), .callee, b2)
        #expect(out.contains(.stopRinging))
        #expect(bench.session.answeringDevice == b2)
        #expect(bench.session.answeredAt == bench.now)
        #expect(out.changes.map(\.state) == [.answered, .ended])
        #expect(out.changes.allSatisfy { $0.answeredBy == b2 })
        for device in [b1, b3] {
            #expect(bench.endings(.callee, device) == [.answeredElsewhere])
            #expect(bench.session.hasUndeliveredEnd(to: device, side: .callee))
            #expect(bench.session.visibleState(side: .callee, device: device).state == .ended)
        }
        #expect(bench.endings(.callee, b2).isEmpty)
        #expect(bench.endings(.caller, bench.caller).isEmpty)
    }

    @Test("A later answer from another device, or with another description, is refused and changes nothing")
    func second() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench.answered(by: b1, others: [b2])
        let before = bench.session
        #expect(try bench.send(.answer(digest: 3), .callee, b2) == [.refuse(.alreadyAnswered)])
        #expect(try bench.send(.answer(digest: 2), .callee, b2) == [.refuse(.alreadyAnswered)])
        #expect(try bench.send(.answer(digest: 3), .callee, b1) == [.refuse(.alreadyAnswered)])
        #expect(bench.session == before)
    }

    @Test("A second copy of an answer from the same device is a repeat, whatever its id and transport")
    func again() throws {
        let b1 = try device("b1", fingerprint: 5)
        var bench = try CallBench(callees: [b1])
        let seq = try bench.send(.answer(digest: 2), .callee, b1, id: "x").acknowledged?.seq
        for (device, id) in [(b1, "x"), (b1, "y"), (DeviceIdentity(unnamed: TokenFingerprint(rawValue: 5)), "z")] {
            let again = try bench.send(.answer(digest: 2), .callee, device, id: id)
            #expect(again.isOnlyRepeat, "\(id)")
            #expect(again.acknowledged?.seq == seq, "\(id)")
        }
    }

    @Test("The first answer wins even if its device was never notified of the call")
    func outsider() throws {
        let b1 = try device("b1")
        var bench = try CallBench()
        try bench.send(.answer(digest: 2), .callee, b1)
        #expect(bench.session.answeringDevice == b1)
        #expect(bench.session.legs.map(\.phase) == [.answered, .answered])
    }

    @Test("The caller's answer to their own call is refused")
    func byCaller() throws {
        var bench = try CallBench(callees: [try device("b1")])
        #expect(try bench.send(.answer(digest: 2), .caller, bench.caller).refusal != nil)
        #expect(bench.session.state == .ringing)
    }

    @Test("An answer after a decline by another device is refused: the call has ended")
    func afterDecline() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1, b2])
        try bench.send(.end(nil), .callee, b2)
        #expect(try bench.send(.answer(digest: 2), .callee, b1) == [.refuse(.callEnded)])
    }

    @Test("After the answer, the answering device sees the callee's whole log, and a device that lost sees only an end")
    func sight() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1, b2])
        try bench.send(.ice, .caller, bench.caller)
        #expect(bench.shown(.callee, b2).count == 2)
        try bench.send(.answer(digest: 2), .callee, b1)
        try bench.send(.ice, .caller, bench.caller)
        #expect(bench.shown(.callee, b1).map(\.seq) == [1, 3, 5, 7])
        #expect(bench.shown(.callee, b2).map(\.seq) == [6])
    }

    @Test("The call becomes active with the answer if the answering device's `connected` arrived first")
    func connectedEarly() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1, b2])
        try bench.send(.connected, .callee, b1)
        #expect(bench.session.state == .ringing)
        var other = bench
        #expect(try bench.send(.answer(digest: 2), .callee, b1).changes.map(\.state) == [.answered, .ended, .active])
        #expect(bench.session.activeAt == bench.now)
        try other.send(.answer(digest: 2), .callee, b2)
        #expect(other.session.state == .answered)
    }

    @Test("The caller's `connected` makes an answered call active; a later `connected` of the callee changes nothing")
    func connected() throws {
        let b1 = try device("b1")
        var bench = try CallBench.answered(by: b1)
        bench.wait(1)
        #expect(try bench.send(.connected, .caller, bench.caller).changes.map(\.state) == [.active])
        let activeAt = bench.session.activeAt
        bench.wait(1)
        #expect(try bench.send(.connected, .callee, b1).changes.isEmpty)
        #expect(bench.session.activeAt == activeAt)
    }
}

@Suite("Ringing")
struct RingingTests {
    @Test("The caller is notified only once that a device rings")
    func once() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        let first = try bench.send(.ringing, .callee, b1)
        #expect(first.entries.map(\.audience) == [.caller])
        let again = try bench.send(.ringing, .callee, b1)
        #expect(again.isOnlyRepeat)
        #expect(again.acknowledged?.seq == first.acknowledged?.seq)
        #expect(bench.session.legs[1].phase == .ringing)
    }

    @Test("A ring ends as unanswered at its timeout, not before, and only once")
    func timeout() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1], first: offer(1, ringTimeout: 20))
        #expect(bench.session.deadline == bench.now + .seconds(20))
        bench.wait(19)
        #expect(bench.give(.deadlineReached) == [])
        bench.wait(1)
        let out = bench.give(.deadlineReached)
        #expect(out.contains(.stopRinging))
        #expect(out.ended?.reason == .unanswered)
        #expect(bench.give(.deadlineReached) == [])
        #expect(bench.session.deadline == nil)
        #expect(bench.endings(.callee, b1) == [.unanswered])
    }

    @Test("A ring keeps its end time when the caller replaces the description")
    func replacedDescription() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        let until = bench.session.deadline
        bench.wait(10)
        let out = try bench.send(.offer(offer(2, hasVideo: true)), .caller, bench.caller)
        #expect(out.entries.count == 1)
        #expect(bench.session.deadline == until)
        #expect(bench.session.hasVideo)
        #expect(bench.session.legs.count == 2)
    }

    @Test("Another named device of the caller cannot take over a ringing call from a named device")
    func anotherDeviceOffers() throws {
        var bench = try CallBench(callees: [try device("b1")])
        let log = bench.session.log
        let out = try bench.send(.offer(offer(2)), .caller, device("a2"))
        #expect(out == [.refuse(.forbidden("another of your devices is making this call"))])
        #expect(bench.session.log == log)
    }

    @Test("An offer with the same description is a repeat, whatever its id")
    func sameDescription() throws {
        var bench = try CallBench(callees: [try device("b1")])
        let again = try bench.send(.offer(offer(1)), .caller, bench.caller, id: "y")
        #expect(again.isOnlyRepeat)
        #expect(again.acknowledged?.seq == 1)
    }

    @Test("A further device that is notified is recorded once, and not at all after the answer")
    func notified() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1])
        #expect(bench.give(.notified(b2)) == [.changed])
        #expect(bench.give(.notified(b2)) == [])
        try bench.send(.answer(digest: 2), .callee, b1)
        #expect(bench.give(.notified(try device("b3"))) == [])
    }

    @Test("A `ringing` signal from the answering device after its answer has no effect")
    func crossing() throws {
        let b1 = try device("b1")
        var bench = try CallBench.answered(by: b1)
        #expect(try bench.send(.ringing, .callee, b1).isOnlyRepeat)
    }

    @Test("A device that a push woke is recognized by the token that it uses afterwards")
    func tokenOfWoken() throws {
        let woken = DeviceIdentity(id: try device("ipad").id, fingerprint: TokenFingerprint(rawValue: 0))
        let ipad = try device("ipad", fingerprint: 5)
        let b2 = try device("b2")
        for input in [CallSession.Input.notified(ipad), .seen(ipad, .callee)] {
            var bench = try CallBench(callees: [woken, b2])
            bench.give(input)
            try bench.send(.end(nil), .callee, DeviceIdentity(unnamed: ipad.fingerprint))
            #expect(bench.endings(.callee, ipad) == [.declined])
            #expect(bench.endings(.callee, b2) == [.declinedElsewhere])
        }
    }
}
