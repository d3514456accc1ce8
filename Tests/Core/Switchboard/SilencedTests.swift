import CallCore
import CallPorts
import CallTrace
import CallWire
import Testing

@testable import Switchboard

/// A `ringing` that says that the system does not show the call.
private func silenced(_ why: String = "focus", id: String = "s") -> String {
    SwitchboardWorld.plain("ringing", "c-1", id: id, more: #","shown":false,"why":"\#(why)""#)
}

@Suite("A callee's device whose system does not show the call")
struct SilencedTests {
    /// A world in which 11 rings 10's devices b1, which is connected and can be pushed, and b2, which is connected.
    private func rung() throws -> (world: SwitchboardWorld, a: SocketID, b1: SocketID, b2: SocketID) {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1", alert: "a1a1")
        let (a, b1, b2) = (try world.open("11", "a1"), try world.open("10", "b1"), try world.open("10", "b2"))
        world.send(a, SwitchboardWorld.offer("c-1", to: "10"))
        for connection in [a, b1, b2] { _ = world.takeFrames(of: connection) }
        return (world, a, b1, b2)
    }

    private func explain(_ world: SwitchboardWorld) throws -> String {
        let record = try #require(world.record("c-1"))
        let events = world.changes.compactMap { if case .event(record.number, let event) = $0 { event } else { nil } }
        let log = world.changes.compactMap { if case .entry(record.number, let entry) = $0 { entry } else { nil } }
        return Explanation(record: record, events: events, log: log, devices: [], at: world.now).text
    }

    @Test("Only the device gets an ack, without a number; caller and other devices are sent nothing, and ring on")
    func quiet() throws {
        let (world, a, b1, b2) = try rung()
        world.send(b1, silenced())
        world.commit()
        let ack = try #require(world.takeFrames(of: b1).of("ack").first)
        #expect(ack["id"] == "s" && ack["seq"] == nil)
        #expect(world.takeFrames(of: a).isEmpty && world.takeFrames(of: b2).isEmpty)
        #expect(world.record("c-1")?.legs.map(\.phase) == [.answered, .silenced, .notified])
        world.send(b2, SwitchboardWorld.answer("c-1"))
        #expect(world.record("c-1")?.answeredAt != nil)
    }

    @Test("A request says the same, and a value that is no boolean is refused")
    func request() throws {
        let (world, a, _, _) = try rung()
        let body = #"{"action":"ringing","callId":"c-1","deviceId":"b1","data":{"shown":SHOWN,"why":"nobody knows"}}"#
        #expect(throws: WireError.self) { try world.post(try principal("10"), body.replacing("SHOWN", with: "0")) }
        #expect(try world.post(try principal("10"), body.replacing("SHOWN", with: "false")).status == 200)
        #expect(world.takeFrames(of: a).isEmpty)
        #expect(world.events("device.silenced") == [#""device":"b1","why":"system""#])
        #expect(world.switchboard.metrics.silenced == [.system: 1])
        #expect(try world.post(try principal("10"), body.replacing("SHOWN", with: "true")).status == 200)
        #expect(world.takeFrames(of: a).of("ringing").count == 1, "with true it is a ringing")
    }

    @Test("The device is not pushed when its connection dies, nor after a restart")
    func notPushed() throws {
        let (world, _, b1, _) = try rung()
        world.send(b1, silenced())
        world.commit()
        world.give(.closed(b1))
        world.wait(10)
        #expect(world.takenPushes().isEmpty)
        let later = world.restarted()
        later.wait(10)
        #expect(later.takenPushes().isEmpty)
    }

    @Test("A push that APNs put off is not tried again")
    func notRetried() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1")
        let a = try world.open("11", "a1")
        world.send(a, SwitchboardWorld.offer("c-1", to: "10"))
        let push = try #require(world.takenPushes().first)
        // The push reached the device although its response was lost.
        world.give(.pushed(push.id, .unreachable("no answer")))
        let body = #"{"action":"ringing","callId":"c-1","deviceId":"b1","data":{"shown":false,"why":"focus"}}"#
        #expect(try world.post(try principal("10"), body).status == 200)
        world.wait(30)
        #expect(world.takenPushes().isEmpty)
        #expect(try explain(world).contains("did not ring"))
    }

    @Test("A missed call is told to a device that a Focus kept quiet, and not to one whose user blocked the caller")
    func missed() throws {
        for (why, count) in [("focus", 1), ("blockList", 0), ("otherUser", 0)] {
            let (world, _, b1, _) = try rung()
            world.send(b1, silenced(why))
            world.wait(46)
            #expect(world.takenPushes().filter { $0.route.kind == .alert }.count == count, "\(why)")
            #expect(world.record("c-1")?.reason == .unanswered)
        }
    }

    @Test("The timeline shows it to the callee alone, and the explanation says what happened")
    func explained() throws {
        let (world, _, b1, _) = try rung()
        world.wait(.milliseconds(300))
        world.send(b1, silenced())
        world.send(b1, silenced(id: "again"))
        #expect(TimelineEvent.silenced(try device("b1"), .focus).audience == .callee)
        #expect(world.events("device.silenced") == [#""device":"b1","why":"focus""#], "once")
        world.wait(46)
        let text = try explain(world)
        #expect(text.contains("◀─ silenced: focus"), "\(text)")
        #expect(
            text.contains(
                "10's device b1 did not ring: at +0.30 s its system refused to show the call, because a Focus, or another "
                    + "setting of the device, keeps calls back. Nothing was declined, and the device was not pushed again."
            ),
            "\(text)"
        )
    }

    @Test("A device of another user says so with the push's capability, and the explanation repeats it")
    func otherUser() throws {
        let world = SwitchboardWorld()
        try world.register(try principal("10"), "b1", voip: "b1b1")
        world.send(try world.open("11", "a1"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(world.takenPushes().count == 1)
        let scope = CallScope(call: try call("c-1"), epoch: 1, peer: try user("11"), device: try device("b1"))
        let body =
            #"{"action":"ringing","callId":"c-1","epoch":1,"to":"11","deviceId":"other","#
            + #""data":{"shown":false,"why":"otherUser"}}"#
        #expect(try world.post(Principal(user: try user("10"), scope: scope), body).status == 200)
        #expect(world.events("device.silenced") == [#""device":"b1","why":"otherUser""#])
        #expect(world.switchboard.metrics.silenced == [.otherUser: 1])
        world.wait(46)
        let text = try explain(world)
        #expect(text.contains("its app said that 10 is not signed in there."), "\(text)")
    }

    @Test("A silenced device that answers after all has the call, and the explanation says so")
    func answers() throws {
        let (world, _, b1, _) = try rung()
        world.send(b1, silenced("full"))
        world.wait(1)
        world.send(b1, SwitchboardWorld.answer("c-1"))
        #expect(world.record("c-1")?.answeredAt != nil)
        #expect(try explain(world).contains("It answered after all, at +1.00 s."))
    }
}
