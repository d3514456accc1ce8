import CallCore
import CallPorts
import Testing

@testable import Switchboard

@Suite("A call that has ended before a start")
struct RestAtStartTests {
    /// Returns the next run after a call that 11 cancelled while device b1 of 10, which had rung, was away.
    private func missed(_ callID: String = "c-1", after seconds: Int64 = 2) throws -> SwitchboardWorld {
        let world = SwitchboardWorld()
        try miss(callID, in: world)
        return world.restarted(uncleanStarts: 1, after: seconds)
    }

    private func miss(_ callID: String, in world: SwitchboardWorld, id: String = "o") throws {
        let (caller, callee) = (try world.open("11", "a1"), try world.open("10", "b1"))
        world.send(caller, SwitchboardWorld.offer(callID, to: "10", id: id, sdp: "v=0\\r\\ns=\(id)\\r\\n"))
        world.pong(callee)
        world.give(.closed(callee))
        world.send(caller, SwitchboardWorld.plain("end", callID, id: "e-\(id)"))
        world.pong(caller)
        world.give(.closed(caller))
    }

    @Test("It is at rest at once, is loaded when a client asks for it, and rests again")
    func inAndOut() throws {
        let world = try missed()
        #expect(world.switchboard.calls.count == 0 && world.switchboard.calls.resting.count == 1)
        #expect(try world.fetched(try principal("11"), "c-1", device: "a1")["reason"] == "cancelled")
        #expect(world.switchboard.calls.count == 1 && world.switchboard.calls.resting.isEmpty)
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.plain("end", "c-1", id: "e-o"))
        #expect(world.takeFrames(of: caller).of("ack").count == 1, "a resent end is known")
        world.give(.closed(caller))
        try world.putToRest()
    }

    @Test("A device that was away is notified of its end, and once")
    func notices() throws {
        let world = try missed()
        let callee = try world.open("10", "b1")
        #expect(world.takeFrames(of: callee).states == ["ended cancelled"])
        world.pong(callee)
        world.give(.closed(callee))
        #expect(world.takeFrames(of: try world.open("10", "b1")).states.isEmpty)
    }

    @Test("A resent offer without a callId goes to the call that it began; another offer of the caller begins one")
    func withoutCallID() throws {
        let first = SwitchboardWorld()
        let offer = #"{"type":"offer","id":"o","to":"10","sdp":"v=0\r\n"}"#
        let caller = try first.open("11", "a1")
        first.send(caller, offer)
        let id = try #require(first.takeFrames(of: caller).ack?["callId"])
        first.send(caller, SwitchboardWorld.plain("end", id, id: "e"))
        let world = first.restarted(after: 2)
        let again = try world.open("11", "a1")
        world.send(again, offer)
        #expect(world.takeFrames(of: again).of("ack").first?["callId"] == id)
        #expect(world.switchboard.metrics.callsBegun == 0)
        world.send(again, #"{"type":"offer","id":"p","to":"10","sdp":"v=0\r\ns=2\r\n"}"#)
        #expect(world.takeFrames(of: again).of("ack").count == 1)
        #expect(world.switchboard.metrics.callsBegun == 1)
    }

    @Test("Of two calls under one callId, the callId means the newer one")
    func newest() throws {
        let first = SwitchboardWorld()
        try miss("11-10", in: first, id: "o1")
        first.wait(1)
        try miss("11-10", in: first, id: "o2")
        let world = first.restarted(after: 2)
        #expect(world.switchboard.calls.resting.count == 2)
        #expect(try world.fetched(try principal("11"), "11-10", device: "a1")["epoch"] == "2")
        let back = try world.open("10", "b1")
        #expect(world.takeFrames(of: back).of("call").map { $0["epoch"] } == ["2"])
        let caller = try world.open("11", "a1")
        world.send(caller, SwitchboardWorld.offer("11-10", to: "10", id: "o3", sdp: "v=0\\r\\ns=3\\r\\n"))
        #expect(world.takeFrames(of: caller).of("ack").first?["epoch"] == "3")
    }

    @Test("It is forgotten when it can no longer be fetched; overdue calls one after another")
    func forgotten() throws {
        let first = SwitchboardWorld()
        for number in 1...3 {
            try miss("c-\(number)", in: first)
            first.wait(1)
        }
        let next = first.restarted(after: 300)
        next.wait(290)
        #expect(next.switchboard.calls.resting.count == 3)
        next.wait(20)
        #expect(next.switchboard.calls.resting.isEmpty && next.switchboard.calls.count == 0)

        let late = first.restarted(after: 6_000)
        #expect(late.switchboard.calls.resting.count == 3)
        late.wait(.milliseconds(5))
        #expect(late.switchboard.calls.resting.count == 2)
        late.wait(1)
        #expect(late.switchboard.calls.resting.isEmpty)
        let forgotten = late.changes.count { if case .logForgotten = $0 { true } else { false } }
        #expect(forgotten == 3)
    }
}
