import CallCore
import Testing

@Suite("A restored call")
struct RestoreTests {
    private func restored(_ bench: CallBench, uncleanStarts: Int = 0) throws -> CallBench {
        var bench = bench
        bench.session = try #require(bench.restarted(uncleanStarts: uncleanStarts))
        return bench
    }

    @Test("A restored call has the phase, legs, log and media state that it had")
    func same() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var declined = try CallBench(callees: [b1, b2])
        try declined.send(.end(.busy), .callee, b1)
        var held = try CallBench.active(with: b1)
        try held.send(.update(.init(hold: true, videoMuted: false)), .caller, held.caller)
        for before in [try CallBench(callees: [b1]), try CallBench.answered(by: b1, others: [b2]), held, declined] {
            let after = try restored(before)
            #expect(after.session.phase == before.session.phase)
            #expect(after.session.log == before.session.log)
            #expect(after.session.legs.map(\.phase) == before.session.legs.map(\.phase))
            #expect(after.session.callerMedia == before.session.callerMedia)
            #expect(after.session.ringUntil == before.session.ringUntil)
            #expect(after.session.answeringDevice == before.session.answeringDevice)
        }
    }

    @Test("A restored call rings until its original end time")
    func ringing() throws {
        var bench = try CallBench(callees: [try device("b1")])
        let until = bench.session.deadline
        bench.wait(10)
        var after = try restored(bench)
        #expect(after.session.deadline == until)
        #expect(try after.letTimePass().ended?.reason == .unanswered)
    }

    @Test("The devices of a restored call count as gone from the restart on")
    func gone() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        bench.wait(100)
        var after = try restored(bench)
        #expect(after.session.deadline == after.now + .seconds(30))
        after.give(.seen(b1, .callee))
        after.give(.seen(after.caller, .caller))
        #expect(after.session.deadline == nil)
    }

    @Test("No `seq` is given to a second entry, however often the server crashes and loses entries")
    func numbers() throws {
        let b1 = try device("b1")
        var bench = try CallBench.answered(by: b1)
        let durable = bench.session.log.count
        var shown = Set(bench.session.log.map(\.seq))
        for crash in 1...5 {
            // The entries of the round before were relayed and seen, but the crash lost them.
            bench.session = try #require(bench.restarted(uncleanStarts: crash, entries: durable))
            for _ in 0..<400 {
                let seq = try #require(try bench.send(.ice, .caller, bench.caller).acknowledged?.seq)
                #expect(shown.insert(seq).inserted, "\(seq) was shown before crash \(crash)")
            }
        }
    }

    @Test("A restored call recognises the ids, descriptions and answers that it accepted before")
    func receipts() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1], firstID: try signalID("o"))
        try bench.send(.ice, .caller, bench.caller, id: "i")
        let answer = try bench.send(.answer(digest: 2), .callee, b1, id: "a")
        var after = try restored(bench)
        #expect(try after.send(.offer(offer(1)), .caller, after.caller, id: "o").acknowledged?.seq == 1)
        #expect(try after.send(.ice, .caller, after.caller, id: "i").acknowledged?.seq == 3)
        #expect(try after.send(.answer(digest: 2), .callee, b1).acknowledged?.seq == answer.acknowledged?.seq)
        #expect(try after.send(.answer(digest: 3), .callee, b1) == [.refuse(.alreadyAnswered)])
    }

    @Test("A restored call knows which renegotiations wait for an answer")
    func renegotiations() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        try bench.send(.offer(offer(10)), .callee, b1)
        #expect(try restored(bench).session.unansweredOffers == [.callee])
        try bench.send(.offer(offer(20)), .caller, bench.caller)
        #expect(try restored(bench).session.unansweredOffers == [.caller, .callee])
        try bench.send(.answer(digest: 21), .callee, b1)
        #expect(try restored(bench).session.unansweredOffers.isEmpty)
        #expect(try restored(.answered(by: b1)).session.unansweredOffers.isEmpty)
    }

    @Test("A restored call knows that a device sent `connected` before its answer")
    func connectedEarly() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        try bench.send(.connected, .callee, b1)
        var after = try restored(bench)
        #expect(try after.send(.answer(digest: 2), .callee, b1).changes.map(\.state) == [.answered, .active])
    }

    @Test("After a restart, a device that lost the call must still be notified that another device answered")
    func undeliveredEnds() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        let after = try restored(.answered(by: b1, others: [b2]))
        #expect(after.session.hasUndeliveredEnd(to: b2, side: .callee))
        #expect(!after.session.hasUndeliveredEnd(to: b1, side: .callee))
    }

    @Test("Stored state that contradicts itself restores no call")
    func nonsense() throws {
        var bench = try CallBench(callees: [try device("b1")])
        var kept = bench
        kept.session = try #require(bench.restarted())
        bench.wait(1)
        let empty = CallSession.Snapshot(
            number: bench.session.number,
            key: bench.session.key,
            epoch: 1,
            caller: bench.session.caller,
            startedAt: bench.now,
            ringUntil: bench.now,
            answeredAt: nil,
            activeAt: nil,
            ending: nil,
            legs: [],
            answeringDevice: nil,
            hasVideo: false,
            isHidden: false,
            callerMedia: .init(),
            calleeMedia: .init()
        )
        #expect(CallSession(restoring: empty, log: [], grace: .seconds(30), uncleanStarts: 0, at: bench.now) == nil)
        var foreign = empty
        foreign.legs = [Leg(device: bench.caller, side: .callee, phase: .answered)]
        #expect(CallSession(restoring: foreign, log: [], grace: .seconds(30), uncleanStarts: 0, at: bench.now) == nil)
        foreign.legs = [Leg(device: bench.caller, side: .caller, phase: .answered)]
        foreign.caller = try user("12")
        #expect(CallSession(restoring: foreign, log: [], grace: .seconds(30), uncleanStarts: 0, at: bench.now) == nil)
    }
}
