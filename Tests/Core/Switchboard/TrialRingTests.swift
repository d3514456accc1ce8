import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Rings of schedules on trial, and the limits of rings")
struct TrialRingTests {
    private func offer(_ rig: ScheduleRig, to phone: SocketID) throws -> Frame {
        try #require(rig.world.takeFrames(of: phone).of("offer").last)
    }

    @Test("It rings as the next call would, once, and leaves the schedule as it is", arguments: [false, true])
    func rings(_ isConfirmed: Bool) throws {
        let rig = ScheduleRig()
        let phone = try rig.world.open("10", "phone")
        try rig.make(isConfirmed ? ScheduleRig.confirmed : ScheduleRig.daily)
        let before = try rig.ask(.one(rig.id("s"))).text
        let reply = try rig.ask(.ring(rig.id("s")))
        let offer = try offer(rig, to: phone)
        #expect(reply.status == 200 && reply["callId"] == offer["callId"] && reply["epoch"] == "1")
        #expect(offer["scheduled"] == "true" && offer["schedule"] == "s" && offer["displayName"] == "Mina")
        #expect(try rig.ask(.one(rig.id("s"))).text == before)
        rig.world.wait(35, keeping: phone)
        #expect(rig.outcomes == [isConfirmed ? "given_up" : "missed"])
        rig.world.wait(5, keeping: phone)
        #expect(rig.outcomes.last == "ringing", "the time of the schedule has come")
        #expect(try self.offer(rig, to: phone)["callId"] != offer["callId"])
    }

    @Test("A ring on trial is answered, confirmed and removed as any other, and tells so in the history")
    func course() throws {
        for how in ["confirm", "info", "remove"] {
            let rig = ScheduleRig()
            let phone = try rig.world.open("10", "phone")
            try rig.make(ScheduleRig.confirmed)
            #expect(try rig.ask(.ring(rig.id("s")), byService: true).status == 200)
            let call = try #require(try offer(rig, to: phone)["callId"])
            switch how {
            case "confirm": #expect(try rig.ask(.confirm(rig.id("s"))).status == 200)
            case "info": rig.world.send(phone, #"{"type":"info","id":"i","callId":"\#(call)","confirm":true}"#)
            default: #expect(try rig.ask(.remove(rig.id("s"))).status == 200)
            }
            #expect(rig.outcomes == [how == "remove" ? "cancelled" : "confirmed"])
            #expect(rig.world.record(call)?.scheduled?.ring == ScheduledRing.trial)
            #expect(rig.world.kept.schedules.count == (how == "remove" ? 0 : 1))
        }
    }

    @Test("While the schedule rings its user, or is to ring again, a ring on trial is refused")
    func whileRinging() throws {
        let rig = ScheduleRig()
        let phone = try rig.world.open("10", "phone")
        #expect(try rig.ask(.ring(rig.id("s"))).status == 404)
        try rig.make(ScheduleRig.confirmed)
        #expect(try rig.ask(.ring(rig.id("s"))).status == 200)
        #expect(try rig.ask(.ring(rig.id("s")))["code"] == "call_exists")
        rig.world.wait(41, keeping: phone)
        #expect(rig.outcomes == ["given_up", "ringing"])
        #expect(try rig.ask(.ring(rig.id("s"))).status == 409)
        rig.world.wait(40, keeping: phone)
        #expect(rig.outcomes.last == "unanswered")
        #expect(try rig.ask(.ring(rig.id("s"))).status == 409)
    }

    @Test("Requests with the same key are one ring: while it rings, when it is over, at rest and after a restart")
    func key() throws {
        let rig = ScheduleRig()
        try rig.make(ScheduleRig.confirmed)
        let key = SignalID("k")
        let first = try rig.ask(.ring(rig.id("s"), key: key))
        #expect(first.status == 200 && first["epoch"] == "1")
        func again(_ world: SwitchboardWorld) throws -> String {
            try ScheduleRig(world).ask(.ring(rig.id("s"), key: key)).text
        }
        #expect(try again(rig.world) == first.text)
        #expect(try rig.ask(.ring(rig.id("s"), key: SignalID("l")))["code"] == "call_exists")
        rig.world.commit()
        #expect(try again(rig.world.restarted(uncleanStarts: 1)) == first.text)
        #expect(try rig.ask(.confirm(rig.id("s"))).status == 200)
        #expect(try again(rig.world) == first.text)
        rig.world.wait(16)
        let asked = try rig.world.request(
            try principal("10"),
            .schedules(.ring(try rig.id("s"), key: key), of: nil)
        )
        rig.world.deliverResults()
        #expect(rig.world.replies[asked]?.text == first.text, "the call was at rest")
        #expect(rig.outcomes == ["confirmed"])
        let other = try rig.ask(.ring(rig.id("s"), key: SignalID("l")))
        #expect(other.status == 200 && other["callId"] != first["callId"])
    }

    @Test("A key is one user's and one schedule's, and one of a call that is hidden counts as well")
    func keyOfOthers() throws {
        let rig = ScheduleRig()
        try rig.make(byService: true)
        let form = try ScheduleForm(body: Array(ScheduleRig.daily.utf8))
        _ = try rig.ask(.put(rig.id("t"), form))
        _ = try rig.world.reply(try principal("10"), .blocks(.doNotDisturb(until: rig.world.now + .seconds(600))))
        let key = SignalID("k")
        let first = try rig.ask(.ring(rig.id("s"), key: key))
        #expect(first.status == 200 && rig.world.events("dnd").count == 1)
        #expect(try rig.ask(.ring(rig.id("s"), key: key), byService: true).text == first.text)
        #expect(try rig.ask(.ring(rig.id("t"), key: key))["callId"] != first["callId"])
    }

    @Test("The time of the schedule takes the place of a ring on trial")
    func replaced() throws {
        let rig = ScheduleRig()
        try rig.make()
        rig.world.wait(30)
        #expect(try rig.ask(.ring(rig.id("s"))).status == 200)
        rig.world.wait(10)
        #expect(rig.outcomes == ["replaced", "ringing"])
    }

    @Test("Rings on trial are within the limit of a user's rings")
    func limit() throws {
        let rig = ScheduleRig { $0.schedulesPerUser = 2 }
        try rig.make()
        for status in [200, 200, 429] {
            let reply = try rig.ask(.ring(rig.id("s")))
            #expect(reply.status == status)
            _ = try rig.ask(.confirm(rig.id("s")))
        }
        #expect(rig.world.switchboard.metrics.limited[.scheduledRings] == 1)
    }

    @Test("A user whose quota of stored bytes is used up is not rung, on time or on trial")
    func quota() throws {
        for (body, again) in [(ScheduleRig.daily, ["missed"]), (ScheduleRig.confirmed, ["unanswered", "given_up"])] {
            let rig = ScheduleRig()
            try rig.make(body)
            if again.count > 1 { rig.world.wait(75) }
            rig.world.switchboard.limits.quotas.spend(1 << 40, for: try user("10"), at: rig.world.now)
            if again.count == 1 { #expect(try rig.ask(.ring(rig.id("s")))["code"] == "rate_limited") }
            rig.world.wait(100)
            #expect(rig.outcomes == again)
            #expect(rig.world.events("ring.skipped") == [#""why":"quota""#])
        }
    }

    @Test("A server that drains, or cannot write, rings nothing on trial")
    func refused() throws {
        let rig = ScheduleRig()
        try rig.make()
        rig.world.give(.stored(.stalled(StoreFailure("full"))))
        #expect(try rig.ask(.ring(rig.id("s"))).status == 503)
        rig.world.give(.stored(.recovered))
        rig.world.give(.drain)
        #expect(try rig.ask(.ring(rig.id("s")))["code"] == "draining")
        #expect(rig.outcomes == [])
    }
}
