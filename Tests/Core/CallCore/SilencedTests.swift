import CallCore
import Testing

@Suite("A device whose system does not show the call")
struct SilencedTests {
    @Test("Its leg is silenced, no entry is made, and the call rings on")
    func silenced() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1, b2])
        let log = bench.session.log
        let out = try bench.send(.silenced(.focus), .callee, b1, id: "s")
        #expect(out == [.acknowledge(seq: 0, isNew: true), .changed])
        #expect(bench.session.log == log && bench.session.state == .ringing)
        #expect(bench.session.isSilenced(b1.id) && !bench.session.isSilenced(b2.id))
        try bench.send(.answer(digest: 2), .callee, b2)
        #expect(bench.session.answeringDevice == b2)
    }

    @Test("A repeat changes nothing, also one that comes late, after the device has rung")
    func repeated() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        try bench.send(.silenced(.focus), .callee, b1, id: "s")
        #expect(try bench.send(.silenced(.focus), .callee, b1, id: "s") == [.acknowledge(seq: 0, isNew: false)])
        #expect(try bench.send(.silenced(.full), .callee, b1, id: "t") == [.acknowledge(seq: 0, isNew: false)])
        try bench.send(.ringing, .callee, b1, id: "r")
        #expect(try bench.send(.silenced(.focus), .callee, b1, id: "s") == [.acknowledge(seq: 0, isNew: false)])
        #expect(!bench.session.isSilenced(b1.id))
    }

    @Test("A device that rang may be silenced, and a silenced one may ring or answer")
    func changes() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        try bench.send(.ringing, .callee, b1, id: "r")
        try bench.send(.silenced(.system), .callee, b1, id: "s")
        #expect(bench.session.isSilenced(b1.id))
        let again = try bench.send(.ringing, .callee, b1, id: "r2")
        #expect(again.acknowledged?.isNew == true && !bench.session.isSilenced(b1.id))
        try bench.send(.silenced(.system), .callee, b1, id: "s2")
        try bench.send(.answer(digest: 2), .callee, b1)
        #expect(bench.session.state == .answered && bench.session.answeringDevice == b1)
        #expect(try bench.send(.silenced(.focus), .callee, b1, id: "late") == [.acknowledge(seq: 0, isNew: false)])
    }

    @Test("If no device shows the call, it rings until its time is over")
    func all() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1, b2])
        for one in [b1, b2] { try bench.send(.silenced(.focus), .callee, one) }
        #expect(bench.session.isLive)
        try bench.letTimePass()
        guard case .ended(let ending, nil) = bench.session.phase else {
            Issue.record("the call goes on")
            return
        }
        #expect(ending.reason == .unanswered)
        #expect(bench.session.legs.allSatisfy { $0.phase == .endNotDelivered })
    }

    @Test("The caller's devices, a device that lost the call and a device of an ended call are refused as with ringing")
    func refused() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench(callees: [b1, b2])
        let own = try bench.send(.silenced(.focus), .caller, bench.caller)
        #expect(own.refusal == .forbidden("only the callee's devices send ringing"))
        try bench.send(.answer(digest: 2), .callee, b1)
        #expect(try bench.send(.silenced(.focus), .callee, b2).refusal == .alreadyAnswered)
        try bench.send(.end(nil), .caller, bench.caller)
        #expect(try bench.send(.silenced(.focus), .callee, b1).refusal == .callEnded)
    }

    @Test("A restart keeps it")
    func restarted() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        try bench.send(.silenced(.focus), .callee, b1, id: "s")
        let restored = try #require(
            CallSession(
                restoring: bench.session.snapshot,
                log: bench.session.log.map { ($0, 10) },
                grace: .seconds(30),
                uncleanStarts: 1,
                at: bench.now
            )
        )
        #expect(restored.isSilenced(b1.id))
    }
}
