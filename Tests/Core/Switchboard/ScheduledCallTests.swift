import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Calls of schedules")
struct ScheduledCallTests {
    private func callID(_ frame: Frame?) throws -> String { try #require(frame?["callId"]) }

    @Test("When it is due, a connected device gets an offer without a description, and a registered one a push")
    func rings() throws {
        let rig = ScheduleRig()
        let world = rig.world
        _ = try world.register(try principal("10"), "phone", voip: "aa")
        let desk = try world.open("10", "desk")
        try rig.make(
            ScheduleRig.body(#""on":"2023-11-15","data":{"voice":"Mina"},"handle":"+8210","handleType":"phoneNumber""#)
        )
        world.wait(39)
        #expect(world.takeFrames(of: desk).of("offer").isEmpty)
        world.wait(1)
        let offer = try #require(world.takeFrames(of: desk).of("offer").last)
        #expect(offer["sdp"] == nil && offer["media"] == "none" && offer["scheduled"] == "true")
        #expect(offer["from"] == "wake" && offer["displayName"] == "Mina" && offer["room"] == "p2p:wake-10")
        #expect(offer["data"] == #"{"voice":"Mina"}"# && offer["handle"] == "+8210" && offer["schedule"] == "s")
        let pushes = world.takenPushes().map { Reply(body: $0.payload) }
        #expect(pushes.count == 1)
        #expect(pushes.first?["scheduled"] == "true" && pushes.first?["handle"] == "+8210")
        #expect(pushes.first?["data"] == #"{"voice":"Mina"}"# && pushes.first?["handleType"] == "phoneNumber")
    }

    @Test(
        "It is answered without a description, becomes active, and ends as any call; a one-time schedule is gone then"
    )
    func answered() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let phone = try world.open("10", "phone")
        try rig.make(ScheduleRig.once)
        world.wait(40)
        let id = try callID(world.takeFrames(of: phone).of("offer").last)
        for type in ["ringing", "answer", "connected"] {
            world.send(phone, #"{"type":"\#(type)","id":"\#(type)","callId":"\#(id)","room":"p2p:wake-10"}"#)
        }
        let frames = world.takeFrames(of: phone)
        #expect(frames.code == nil && frames.states == ["answered", "active"])
        #expect(rig.outcomes == ["active"])
        world.wait(3_600, keeping: phone)
        #expect(rig.outcomes == ["active"], "nobody on the caller's side can be gone")
        world.send(phone, #"{"type":"end","id":"e","callId":"\#(id)"}"#)
        #expect(rig.outcomes == ["hangup"] && world.kept.schedules.isEmpty)
        #expect(try rig.ask(.list).text == #"{"schedules":[]}"#)
    }

    @Test("Unanswered it is missed, its device hears so, and the next one is due on the next day")
    func missed() throws {
        let rig = ScheduleRig()
        let world = rig.world
        _ = try world.register(try principal("10"), "phone", voip: "aa", alert: "bb")
        try rig.make()
        world.wait(40)
        for push in world.takenPushes() {
            world.respondToPush(push, 200)
        }
        world.wait(30)
        #expect(rig.outcomes == ["missed"])
        #expect(world.takenPushes().map { Reply(body: $0.payload)["type"] } == ["call.missed"])
        world.wait(86_400 - 30)
        #expect(rig.outcomes == ["missed", "ringing"])
    }

    @Test("With a confirmation it rings until the last ring, which is given up; the next day begins anew")
    func givenUp() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let phone = try world.open("10", "phone")
        try rig.make(ScheduleRig.confirmed)
        world.wait(40)
        let declined = try callID(world.takeFrames(of: phone).of("offer").last)
        world.send(phone, #"{"type":"end","id":"e","callId":"\#(declined)"}"#)
        world.wait(59, keeping: phone)
        #expect(rig.outcomes == ["declined"])
        world.wait(1)
        #expect(rig.outcomes == ["declined", "ringing"])
        world.wait(30 + 60, keeping: phone)
        let last = try callID(world.takeFrames(of: phone).of("offer").last)
        #expect(rig.outcomes == ["declined", "unanswered", "ringing"] && last != declined)
        let awake = try world.open("10", "phone")
        world.send(awake, #"{"type":"answer","id":"a","callId":"\#(last)"}"#)
        world.send(awake, #"{"type":"end","id":"f","callId":"\#(last)"}"#)
        #expect(rig.outcomes == ["declined", "unanswered", "given_up"])
        world.wait(3_600)
        #expect(rig.outcomes.count == 3)
        world.wait(86_400 - 3_600 - 150)
        #expect(rig.outcomes == ["declined", "unanswered", "given_up", "ringing"])
    }

    @Test(
        "A confirmation ends the call, answered or not, and nothing rings again",
        arguments: [
            [#""type":"info""#], [#""type":"answer""#, #""type":"info""#],
        ]
    )
    func confirmed(_ types: [String]) throws {
        let rig = ScheduleRig()
        let world = rig.world
        let phone = try world.open("10", "phone")
        let tablet = try world.open("10", "tablet")
        try rig.make(ScheduleRig.confirmed)
        world.wait(40)
        let id = try callID(world.takeFrames(of: phone).of("offer").last)
        for (number, type) in types.enumerated() {
            world.send(phone, #"{\#(type),"id":"\#(number)","callId":"\#(id)","confirm":true}"#)
        }
        #expect(rig.outcomes == ["confirmed"])
        #expect(world.takeFrames(of: phone).states.last == "ended confirmed")
        #expect(world.takeFrames(of: tablet).states.last?.hasPrefix("ended") == true)
        world.wait(3_600)
        #expect(rig.outcomes == ["confirmed"])
    }

    @Test("A confirmation by request ends the live call, or cancels the next ring; without either it is refused")
    func confirmedByRequest() throws {
        let rig = ScheduleRig()
        let world = rig.world
        try rig.make(ScheduleRig.confirmed)
        #expect(try rig.ask(.confirm(rig.id("s"))).status == 404)
        world.wait(40)
        #expect(try rig.ask(.confirm(rig.id("s"))).status == 200)
        #expect(rig.outcomes == ["confirmed"])
        world.wait(86_400)
        world.wait(30)
        #expect(rig.outcomes == ["confirmed", "unanswered"])
        #expect(try rig.ask(.confirm(rig.id("s"))).status == 200)
        world.wait(3_600)
        #expect(rig.outcomes == ["confirmed", "unanswered", "confirmed"])
    }

    @Test("A confirmation that comes after the end of its ring cancels the next ring")
    func confirmedLate() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let phone = try world.open("10", "phone")
        try rig.make(ScheduleRig.confirmed)
        world.wait(40)
        let id = try callID(world.takeFrames(of: phone).of("offer").last)
        world.send(phone, #"{"type":"end","id":"e","callId":"\#(id)"}"#)
        world.send(phone, #"{"type":"info","id":"i","callId":"\#(id)","confirm":true}"#)
        #expect(world.takeFrames(of: phone).code == nil && rig.outcomes == ["declined", "confirmed"])
        world.send(phone, #"{"type":"info","id":"j","callId":"\#(id)","confirm":true}"#)
        #expect(world.takeFrames(of: phone).code == "call_ended")
        world.wait(3_600)
        #expect(rig.outcomes.count == 2)
    }

    @Test("Rings of schedules are not among the callers that may ring a user at the same time")
    func manyAtOnce() throws {
        let rig = ScheduleRig()
        for number in 0..<7 {
            let body = ScheduleRig.once.replacing("wake", with: "w\(number)")
            let form = try ScheduleForm(body: Array(body.utf8))
            #expect(try rig.ask(.put(rig.id("s\(number)"), form)).status == 200)
        }
        rig.world.wait(41)
        rig.world.send(try rig.world.open("11", "a"), SwitchboardWorld.offer("c-1", to: "10"))
        #expect(rig.outcomes == Array(repeating: "ringing", count: 8))
    }

    @Test("A user who is named as the caller sees nothing of the call, and cannot touch it")
    func caller() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let phone = try world.open("10", "phone")
        let named = try world.open("wake", "scheduler")
        world.send(named, #"{"type":"sync","id":"s"}"#)
        try rig.make()
        world.wait(40)
        let id = try callID(world.takeFrames(of: phone).of("offer").last)
        for type in ["answer", "end", "ringing", "connected"] {
            world.send(named, #"{"type":"\#(type)","id":"\#(type)","callId":"\#(id)","room":"p2p:wake-10"}"#)
        }
        world.send(phone, #"{"type":"answer","id":"a","callId":"\#(id)"}"#)
        world.send(phone, #"{"type":"ice","id":"i","callId":"\#(id)","candidate":null}"#)
        world.send(phone, #"{"type":"end","id":"e","callId":"\#(id)"}"#)
        let frames = world.takeFrames(of: named)
        #expect(
            Set(frames.types).isSubset(of: ["welcome", "synced", "ack", "error"]) && frames.code == "not_found",
            "\(frames)"
        )
        let fetch = try world.reply(try principal("wake", device: "scheduler"), .fetch(try call(id), .init()))
        #expect(fetch.status == 404 && rig.outcomes == ["hangup"])
        #expect(try world.reply(try principal("wake"), .calls(.history(limit: 10, before: nil))).text == "[]")
    }

    @Test("A user who knows the callId cannot put a call in the scheduled one's place")
    func takenOver() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let (phone, named) = (try world.open("10", "phone"), try world.open("wake", "a"))
        try rig.make()
        world.wait(40)
        let id = try callID(world.takeFrames(of: phone).of("offer").last)
        world.send(named, SwitchboardWorld.offer(id, to: "10"))
        #expect(world.takeFrames(of: named).code == "call_exists" && rig.outcomes == ["ringing"])
        #expect(world.takeFrames(of: phone).isEmpty)
    }

    @Test("A signal for the user of the caller's name means the real call with that user")
    func realCall() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let (phone, named) = (try world.open("10", "phone"), try world.open("wake", "a"))
        try rig.make()
        world.send(phone, SwitchboardWorld.offer("c-1", to: "wake"))
        world.send(named, SwitchboardWorld.answer("c-1"))
        world.wait(40, keeping: phone)
        world.send(phone, #"{"type":"end","id":"e","to":"wake"}"#)
        #expect(rig.outcomes == ["hangup", "ringing"])
    }

    @Test("A device has no media to negotiate with a scheduled call")
    func negotiation() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let phone = try world.open("10", "phone")
        try rig.make()
        world.wait(40)
        let id = try callID(world.takeFrames(of: phone).of("offer").last)
        world.send(phone, #"{"type":"answer","id":"a","callId":"\#(id)"}"#)
        world.send(phone, SwitchboardWorld.offer(id, to: "wake"))
        #expect(world.takeFrames(of: phone).code == "forbidden" && rig.outcomes == ["answered"])
    }

    @Test("An own schedule rings during do-not-disturb, a service's does not; a blocked caller or number rings nobody")
    func hidden() throws {
        for isService in [false, true] {
            let rig = ScheduleRig()
            let world = rig.world
            _ = try world.register(try principal("10"), "phone", voip: "aa")
            try rig.make(ScheduleRig.confirmed, byService: isService)
            _ = try world.reply(try principal("10"), .blocks(.doNotDisturb(until: world.now + .seconds(3_600))))
            world.wait(40)
            #expect(world.takenPushes().count == (isService ? 0 : 1))
            world.wait(3_600)
            #expect(rig.outcomes.count == (isService ? 1 : 3), "a hidden call rings once")
        }
        let number = try #require(PhoneNumber(normalizing: "8210"))
        for block in [Switchboard.BlockRequest.block(try user("wake")), .blockNumber(number)] {
            let rig = ScheduleRig()
            _ = try rig.world.register(try principal("10"), "phone", voip: "aa")
            try rig.make(ScheduleRig.body(#""on":"2023-11-15","handle":"+82 10","handleType":"phoneNumber""#))
            _ = try rig.world.reply(try principal("10"), .blocks(block))
            rig.world.wait(100)
            #expect(rig.world.takenPushes().isEmpty && rig.outcomes == ["missed"])
        }
    }

    @Test("A schedule that is removed while it rings stops ringing")
    func removed() throws {
        let rig = ScheduleRig()
        let phone = try rig.world.open("10", "phone")
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(40)
        #expect(try rig.ask(.remove(rig.id("s"))).status == 200)
        #expect(rig.world.takeFrames(of: phone).states == ["ended cancelled"])
        rig.world.wait(86_400)
        #expect(rig.outcomes == ["cancelled"] && rig.world.kept.schedules.isEmpty)
    }

    @Test(
        "An ordinary call is not answered without a description, nor confirmed, and an offer cannot pass for a scheduled one"
    )
    func ordinary() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let (caller, callee) = (try world.open("11", "a"), try world.open("10", "b"))
        world.send(caller, #"{"type":"offer","id":"o","callId":"c-1","to":"10","sdp":"v=0\r\n","scheduled":true}"#)
        let offer = try #require(world.takeFrames(of: callee).of("offer").last)
        #expect(offer["scheduled"] == nil && offer["media"] == nil)
        world.send(callee, #"{"type":"answer","id":"a","callId":"c-1"}"#)
        #expect(world.takeFrames(of: callee).code == "invalid_field")
        world.send(callee, #"{"type":"info","id":"i","callId":"c-1","confirm":true}"#)
        #expect(world.takeFrames(of: callee).code == "forbidden")
        world.send(caller, #"{"type":"offer","id":"p","callId":"c-2","to":"10","media":"none","scheduled":true}"#)
        #expect(world.takeFrames(of: caller).code == "invalid_field")
    }
}
