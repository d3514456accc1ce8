import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

/// In these tests 11 calls 10, and 66 is a third user.
@Suite("A callId that is a UUID")
struct UUIDCallTests {
    private static let lower = "abcdef01-2345-4789-abcd-ef0123456789"
    private static var upper: String { lower.uppercased() }

    @Test(
        "A call is found, answered, renegotiated and ended by its UUID in the other case, and keeps the caller's spelling",
        arguments: [(lower, upper), (upper, lower)]
    )
    func otherCase(_ written: String, _ other: String) throws {
        let talk = try Talk(callID: written)
        talk.world.send(talk.callee, SwitchboardWorld.answer(other))
        #expect(talk.world.takeFrames(of: talk.callee).of("ack").last?["callId"] == written)
        #expect(talk.world.takeFrames(of: talk.caller).of("answer").last?["callId"] == written)
        talk.world.send(talk.caller, SwitchboardWorld.offer(other, to: "10", id: "r", sdp: "v=0\\r\\ns=again\\r\\n"))
        #expect(talk.world.takeFrames(of: talk.callee).of("offer").last?["epoch"] == "1")
        #expect(try talk.world.fetched(try principal("10"), other)["callUUID"] == Self.lower)
        let reply = try talk.world.reply(try principal("10"), .end(try call(other), device: nil))
        #expect(reply["state"] == "ended" && reply["callId"] == written)
    }

    @Test("A call at rest is found by its UUID in the other case")
    func atRest() throws {
        let talk = try Talk.answered(callID: Self.lower)
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", Self.upper, id: "e"))
        try talk.world.putToRest()
        #expect(try talk.world.fetched(try principal("10"), Self.upper)["reason"] == "hangup")
    }

    @Test("The collapse id and the ids of the pushes do not depend on the case")
    func pushes() throws {
        func push(_ id: String) throws -> OutgoingPush {
            let world = SwitchboardWorld()
            try world.register(try principal("10"), "b1")
            world.send(try world.open("11", "a1"), SwitchboardWorld.offer(id, to: "10"))
            return try #require(world.pushes.first)
        }
        #expect(try push(Self.lower).uuid == push(Self.upper).uuid)
    }

    @Test("The callUUID of an offer finds its live call, for its two users alone")
    func callUUID() throws {
        let talk = try Talk(callID: "11-10")
        let uuid = UUIDv5.call(try call("11-10"), epoch: 1)
        talk.clear()
        #expect(try talk.world.fetched(try principal("10"), uuid.uppercased())["callId"] == "11-10")
        #expect(try talk.world.reply(try principal("66"), .calls(.one(try call(uuid)))).status == 404)
        talk.world.send(talk.callee, SwitchboardWorld.answer(uuid))
        #expect(talk.world.takeFrames(of: talk.caller).of("answer").last?["callId"] == "11-10")
        talk.world.send(talk.caller, SwitchboardWorld.plain("end", uuid, id: "e"))
        #expect(talk.world.takeFrames(of: talk.callee).states.last == "ended hangup")
    }

    @Test("A third user's offer under the callUUID of a live call is hidden, as under its callId")
    func outsider() throws {
        let talk = try Talk(callID: "11-10")
        talk.clear()
        let uuid = UUIDv5.call(try call("11-10"), epoch: 1)
        let outsider = try talk.world.open("66", "x1")
        talk.world.send(outsider, SwitchboardWorld.offer(uuid, to: "10", id: "x"))
        #expect(talk.world.takeFrames(of: talk.callee).isEmpty)
        #expect(talk.world.switchboard.metrics.callsHidden == [.callIDTaken: 1])
        talk.world.send(talk.callee, SwitchboardWorld.answer(uuid))
        #expect(talk.world.takeFrames(of: talk.caller).of("answer").last?["callId"] == "11-10")
    }
}
