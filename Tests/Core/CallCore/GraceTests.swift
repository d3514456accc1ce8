import CallCore
import Testing

@Suite("A device that is gone")
struct GraceTests {
    @Test("An active call ends as disconnected when the grace of either side is over, not before")
    func disconnects() throws {
        let b1 = try device("b1")
        for isCaller in [true, false] {
            var bench = try CallBench.active(with: b1)
            #expect(bench.session.deadline == nil)
            bench.give(isCaller ? .gone(bench.caller, .caller) : .gone(b1, .callee))
            #expect(bench.session.deadline == bench.now + .seconds(30))
            bench.wait(29)
            #expect(bench.give(.deadlineReached) == [])
            bench.wait(1)
            #expect(bench.give(.deadlineReached).ended?.reason == .disconnected)
        }
    }

    @Test("A device that comes back within its grace changes nothing")
    func comesBack() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        bench.give(.gone(b1, .callee))
        bench.wait(29)
        bench.give(.seen(b1, .callee))
        #expect(bench.session.deadline == nil)
        bench.wait(60)
        #expect(bench.give(.deadlineReached) == [])
    }

    @Test("The grace runs from the first report that the device is gone")
    func since() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        bench.give(.gone(b1, .callee))
        let deadline = bench.session.deadline
        bench.wait(10)
        bench.give(.gone(b1, .callee))
        #expect(bench.session.deadline == deadline)
    }

    @Test("If both sides are gone, the deadline is that of the side that left first")
    func both() throws {
        let b1 = try device("b1")
        var bench = try CallBench.active(with: b1)
        bench.give(.gone(b1, .callee))
        let deadline = bench.session.deadline
        bench.wait(10)
        bench.give(.gone(bench.caller, .caller))
        #expect(bench.session.deadline == deadline)
        bench.give(.seen(b1, .callee))
        #expect(bench.session.deadline == bench.now + .seconds(30))
    }

    @Test("A ringing call keeps its ring timeout while the caller is gone")
    func ringing() throws {
        var bench = try CallBench(callees: [try device("b1")])
        let until = bench.session.deadline
        bench.give(.gone(bench.caller, .caller))
        #expect(bench.session.deadline == until)
    }

    @Test("The grace of a device that was gone before the answer begins with the answer")
    func goneBeforeAnswer() throws {
        let b1 = try device("b1")
        var bench = try CallBench(callees: [b1])
        bench.give(.gone(bench.caller, .caller))
        bench.wait(40)
        try bench.send(.answer(digest: 2), .callee, b1)
        #expect(bench.session.deadline == bench.now + .seconds(30))
        #expect(bench.give(.deadlineReached) == [])
    }

    @Test("No grace runs for a device that lost the call, nor for another device of the caller")
    func others() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench.answered(by: b1, others: [b2])
        bench.give(.gone(b2, .callee))
        bench.give(.gone(try device("a2"), .caller))
        bench.give(.gone(b1, .caller))
        #expect(bench.session.deadline == nil)
    }

    @Test("A device that lost the call is notified once; both devices in the call are notified of its end")
    func told() throws {
        let (b1, b2) = (try device("b1"), try device("b2"))
        var bench = try CallBench.answered(by: b1, others: [b2])
        #expect(bench.session.hasUndeliveredEnd(to: b2, side: .callee))
        #expect(!bench.session.hasUndeliveredEnd(to: b1, side: .callee))
        #expect(bench.give(.endDelivered(b2, .callee)) == [.changed])
        #expect(bench.give(.endDelivered(b2, .callee)) == [])
        #expect(!bench.session.hasUndeliveredEnd(to: b2, side: .callee))
        try bench.send(.end(nil), .caller, bench.caller)
        #expect(!bench.session.hasUndeliveredEnd(to: b2, side: .callee))
        #expect(bench.session.hasUndeliveredEnd(to: b1, side: .callee))
        #expect(bench.session.hasUndeliveredEnd(to: bench.caller, side: .caller))
    }
}
