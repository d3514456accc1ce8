import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("The confirmation of a schedule that is changed while it rings")
struct ChangedConfirmationTests {
    private func change(_ rig: ScheduleRig, _ body: String) throws {
        let form = try ScheduleForm(body: Array(body.utf8))
        #expect(try rig.ask(.change(rig.id("s"), form)).status == 200)
    }

    private func notices(_ world: SwitchboardWorld) -> [String?] {
        world.takenPushes().map { Reply(body: $0.payload)["type"] }
    }

    private func acceptPushes(_ world: SwitchboardWorld) {
        for push in world.takenPushes() { world.respondToPush(push, 200) }
    }

    @Test(
        "If no further ring is asked for any more, the present one is the last, and its devices hear that it was missed",
        arguments: [#"{"confirm":null}"#, #"{"confirm":{"every":60,"times":1}}"#]
    )
    func last(_ body: String) throws {
        let rig = ScheduleRig()
        _ = try rig.world.register(try principal("10"), "phone", voip: "aa", alert: "bb")
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(40)
        acceptPushes(rig.world)
        try change(rig, body)
        rig.world.wait(30)
        #expect(rig.outcomes == ["unanswered"] && notices(rig.world) == ["call.missed"])
        rig.world.wait(3_600)
        #expect(rig.outcomes == ["unanswered"] && notices(rig.world).isEmpty)
        #expect(rig.world.kept.schedules.first?.occurrence == nil)
    }

    @Test("A ring that another follows is no missed call, also if the pause was changed meanwhile")
    func notLast() throws {
        let rig = ScheduleRig()
        _ = try rig.world.register(try principal("10"), "phone", voip: "aa", alert: "bb")
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(40)
        acceptPushes(rig.world)
        try change(rig, #"{"confirm":{"every":20,"times":2}}"#)
        rig.world.wait(30)
        #expect(rig.outcomes == ["unanswered"] && notices(rig.world).isEmpty)
        rig.world.wait(20)
        acceptPushes(rig.world)
        rig.world.wait(30)
        #expect(rig.outcomes == ["unanswered", "given_up"] && notices(rig.world) == ["call.missed"])
    }

    @Test("After the answer no other device confirms, not even with the callId of an earlier ring")
    func otherDevice() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let phone = try world.open("10", "phone")
        try rig.make(ScheduleRig.confirmed)
        world.wait(40)
        let first = try #require(world.takeFrames(of: phone).of("offer").last?["callId"])
        world.send(phone, #"{"type":"end","id":"e","callId":"\#(first)"}"#)
        world.wait(60, keeping: phone)
        let second = try #require(world.takeFrames(of: phone).of("offer").last?["callId"])
        world.send(phone, #"{"type":"answer","id":"a","callId":"\#(second)"}"#)
        let tablet = try world.open("10", "tablet")
        _ = world.takeFrames(of: tablet)
        world.send(tablet, #"{"type":"info","id":"i","callId":"\#(first)","confirm":true}"#)
        #expect(world.takeFrames(of: tablet).code == "call_ended" && rig.outcomes == ["declined", "answered"])
        world.send(phone, #"{"type":"info","id":"i","callId":"\#(first)","confirm":true}"#)
        #expect(rig.outcomes == ["declined", "confirmed"])
    }
}
