import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Schedules over restarts and over years")
struct ScheduleRestartTests {
    private func restarted(_ rig: ScheduleRig, after seconds: Int64, unclean: Int = 1) -> ScheduleRig {
        ScheduleRig(rig.world.restarted(uncleanStarts: unclean, after: seconds))
    }

    @Test(
        "A server that was down rings what is less than 60 s late, and marks the rest missed",
        arguments: [(99, ["ringing"]), (100, ["missed"]), (2 * 86_400 + 3_600, ["missed", "missed", "missed"])]
    )
    func late(_ seconds: Int, _ outcomes: [String]) throws {
        let rig = ScheduleRig()
        try rig.make()
        let next = restarted(rig, after: Int64(seconds))
        next.world.wait(0)
        #expect(next.outcomes == outcomes)
        next.world.wait(50)
        #expect(next.outcomes.count == outcomes.count && next.outcomes.last == "missed")
        let due = try #require(next.world.kept.schedules.first?.next)
        #expect(due > next.world.now)
    }

    @Test("A server that is killed in a ring goes on with it, and neither repeats nor loses a ring")
    func killed() throws {
        let rig = ScheduleRig()
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(45)
        let second = restarted(rig, after: 5)
        second.world.wait(1)
        #expect(second.outcomes == ["ringing"])
        second.world.wait(30)
        #expect(second.outcomes == ["unanswered"])
        let third = restarted(second, after: 10)
        third.world.wait(10)
        #expect(third.outcomes == ["unanswered"])
        third.world.wait(60)
        #expect(third.outcomes == ["unanswered", "unanswered"])
        let fourth = restarted(third, after: 10_000)
        fourth.world.wait(1)
        #expect(fourth.outcomes == ["unanswered", "unanswered"], "the clock may be ahead")
        fourth.world.wait(3_600)
        #expect(fourth.outcomes == ["unanswered", "unanswered", "given_up"])
    }

    @Test("What was not committed when the server was killed rings again under the same callId")
    func uncommitted() throws {
        let rig = ScheduleRig()
        try rig.make()
        let before = rig.world.kept.state(uncleanStarts: 1)
        let phone = try rig.world.open("10", "phone")
        rig.world.wait(40)
        let first = try #require(rig.world.takeFrames(of: phone).of("offer").last)
        let next = SwitchboardWorld(stored: before, at: rig.world.now)
        let again = try next.open("10", "phone")
        next.wait(0)
        next.wait(1)
        let second = try #require(next.takeFrames(of: again).of("offer").last)
        #expect(first["callId"] == second["callId"] && first["epoch"] == second["epoch"])
    }

    @Test("A start plans the next call by the rules of the zone as they are then; an unknown zone is reported")
    func changedRules() throws {
        let rig = ScheduleRig()
        try rig.make()
        var state = rig.world.kept.state(uncleanStarts: 0)
        let due = try #require(state.schedules.first?.next)
        state.schedules[0].next = due + .seconds(3_600)
        let mended = SwitchboardWorld(stored: state, at: rig.world.now)
        mended.give(.deadlineReached)
        #expect(mended.kept.schedules.first?.next == due)
        let blind = SwitchboardWorld(zones: nil, stored: state, at: rig.world.now)
        blind.wait(3_700)
        #expect(blind.notes.contains(.unknownTimeZone(try user("10"))))
        #expect(ScheduleRig(blind).outcomes == ["missed"], "the planned call rings")
        #expect(blind.kept.schedules.count == 1)
    }

    @Test("A start whose clock is behind rings nothing a second time")
    func clockBehind() throws {
        let rig = ScheduleRig()
        try rig.make()
        rig.world.wait(41)
        let state = rig.world.kept.state(uncleanStarts: 1)
        let next = ScheduleRig(
            SwitchboardWorld(stored: state, at: SwitchboardWorld.start + .seconds(30))
        )
        next.world.wait(20)
        #expect(next.outcomes == ["ringing"])
        next.world.wait(100)
        #expect(next.outcomes == ["missed"])
    }

    @Test("A start whose clock is far ahead removes no schedule of one date, and silences no other for long")
    func clockFarAhead() throws {
        let rig = ScheduleRig()
        try rig.make()
        let form = try ScheduleForm(body: Array(ScheduleRig.once.utf8))
        #expect(try rig.ask(.put(rig.id("once"), form)).status == 200)
        #expect(try rig.world.register(try principal("10"), "phone").status == 200)
        let ahead = ScheduleRig(rig.world.restarted(uncleanStarts: 1, after: 400 * 86_400))
        ahead.world.wait(3_500)
        #expect(ahead.world.kept.schedules.map(\.id.text).sorted() == ["once", "s"])
        let state = ahead.world.kept.state(uncleanStarts: 1)
        let next = ScheduleRig(
            SwitchboardWorld(stored: state, at: SwitchboardWorld.start + .seconds(20))
        )
        next.world.wait(25)
        #expect(next.world.switchboard.metrics.scheduledRings == 2, "both ring at their time")
    }

    @Test("After a long time without a server, a schedule of one date is missed once the clock can be trusted")
    func heldSchedule() throws {
        let rig = ScheduleRig()
        try rig.make(ScheduleRig.once)
        #expect(try rig.world.register(try principal("10"), "phone").status == 200)
        let next = ScheduleRig(rig.world.restarted(uncleanStarts: 0, after: 3 * 86_400))
        next.world.wait(3_590)
        #expect(next.outcomes == [] && next.world.kept.schedules.count == 1)
        next.world.wait(20)
        #expect(next.outcomes == ["missed"] && next.world.kept.schedules.isEmpty)
    }

    @Test("What is less than 60 s late rings, also if nothing else has happened for more than a day")
    func heldForNobody() throws {
        let rig = ScheduleRig()
        #expect(try rig.world.register(try principal("10"), "phone").status == 200)
        try rig.make(ScheduleRig.body(#""on":"2023-11-17""#))
        rig.world.wait(2 * 86_400 + 30)
        let next = restarted(rig, after: 20, unclean: 0)
        next.world.wait(1)
        #expect(next.outcomes == ["ringing"])
    }

    @Test("A schedule of one date that is held and then changed rings at its new time")
    func changedWhileHeld() throws {
        let rig = ScheduleRig()
        #expect(try rig.world.register(try principal("10"), "phone").status == 200)
        try rig.make(ScheduleRig.body(#""on":"2023-11-15","confirm":{"every":60,"times":3}"#))
        rig.world.wait(75)
        let next = restarted(rig, after: 3 * 86_400 - 60)
        next.world.wait(1)
        #expect(next.outcomes == ["unanswered"], "the next ring is held")
        try next.make(ScheduleRig.confirmed)
        next.world.wait(30)
        #expect(next.outcomes.last == "ringing")
    }

    @Test("A short outage gives up no ring that is to come")
    func shortOutage() throws {
        let rig = ScheduleRig()
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(45)
        let next = restarted(rig, after: 90)
        next.world.wait(1)
        next.world.wait(1)
        #expect(next.outcomes == ["unanswered", "ringing"])
    }

    @Test("Who was to be woken in the morning is not rung in the afternoon, when the server is back")
    func afternoon() throws {
        let rig = ScheduleRig()
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(45)
        let next = restarted(rig, after: 7 * 3_600)
        next.world.give(.deadlineReached)
        next.world.wait(3_600)
        #expect(next.outcomes == ["unanswered", "given_up"])
        #expect(next.world.kept.schedules.first?.occurrence == nil)
    }

    @Test("A ring that began without a wish for a confirmation has one outcome, also if one was asked for since")
    func confirmationSinceTheRing() throws {
        let rig = ScheduleRig()
        try rig.make()
        rig.world.wait(45)
        try rig.make(ScheduleRig.confirmed)
        let next = restarted(rig, after: 3_600)
        next.world.wait(10)
        #expect(next.outcomes == ["missed"])
    }

    @Test("A call that was answered goes on over a restart, however long ago it rang")
    func answered() throws {
        let rig = ScheduleRig()
        let phone = try rig.world.open("10", "phone")
        try rig.make(ScheduleRig.confirmed)
        rig.world.wait(40)
        let id = try #require(rig.world.takeFrames(of: phone).of("offer").last?["callId"])
        rig.world.send(phone, #"{"type":"answer","id":"a","callId":"\#(id)"}"#)
        rig.world.wait(180, keeping: phone)
        let next = restarted(rig, after: 2)
        let again = try next.world.open("10", "phone")
        next.world.wait(50)
        #expect(next.outcomes == ["answered"])
        next.world.send(again, #"{"type":"end","id":"e","callId":"\#(id)"}"#)
        next.world.wait(60)
        #expect(next.outcomes == ["hangup", "ringing"], "it was not confirmed")
    }

    @Test("A schedule that is changed again and again takes no more memory")
    func changes() throws {
        let rig = ScheduleRig()
        for day in 0..<400 {
            rig.world.wait(1)
            let body = ScheduleRig.body(#""on":"20\#(30 + day % 60)-01-01""#)
            #expect(try rig.ask(.put(rig.id("s"), try ScheduleForm(body: Array(body.utf8)))).status == 200)
        }
        #expect(rig.world.switchboard.directory.schedules.queueCount < 100)
    }

    @Test("A server that drains begins no call; the next one does")
    func draining() throws {
        let rig = ScheduleRig()
        try rig.make()
        rig.world.give(.drain)
        rig.world.wait(41)
        #expect(rig.outcomes == [])
        let next = restarted(rig, after: 1, unclean: 0)
        next.world.wait(0)
        next.world.wait(1)
        #expect(next.outcomes == ["ringing"])
    }

    @Test("A thousand schedules that are due at once all ring within a simulated second, each once")
    func many() throws {
        let rig = ScheduleRig()
        var service = try principal("svc")
        service.isService = true
        let form = try ScheduleForm(body: Array(ScheduleRig.once.utf8))
        for number in 0..<1_000 {
            let id = try rig.id("s\(number)")
            let reply = try rig.world.reply(service, .schedules(.put(id, form), of: try user("u\(number)")))
            #expect(reply.status == 200)
        }
        rig.world.wait(41)
        let begun = rig.world.changes.compactMap { change -> UserID? in
            if case .call(let call) = change, call.scheduled != nil, call.endedAt == nil { call.callee } else { nil }
        }
        #expect(begun.count == 1_000 && Set(begun).count == 1_000)
    }

    @Test("For two years, in two zones, it rings once on each chosen day, at its local time")
    func years() throws {
        let rig = ScheduleRig()
        let world = rig.world
        let every = #""days":["mon","tue","wed","thu","fri","sat","sun"]"#
        let weekdays = #""days":["mon","tue","wed","thu","fri"]"#
        for (id, zone, time, days) in [
            ("seoul", "Asia/Seoul", "06:30", every), ("new-york", "America/New_York", "02:30", every),
            ("work", "America/New_York", "01:30", weekdays),
        ] {
            let body = #"{"at":"\#(time)","timeZone":"\#(zone)","from":{"id":"wake"},"ring":5,\#(days)}"#
            #expect(try rig.ask(.put(rig.id(id), try ScheduleForm(body: Array(body.utf8)))).status == 200)
        }
        var rings: [String: [Int64]] = [:]
        // To the next half hour, at which all are due, and then from one to the next.
        world.skip(1_000)
        for _ in 0..<(731 * 48) { world.skip(1_800) }
        for case .event(_, let record) in world.changes {
            guard case .scheduled(let id, let occurrence, _) = record.event else { continue }
            #expect(record.at == occurrence, "it rings on time")
            rings[id.text, default: []].append(occurrence.milliseconds / 1_000)
        }
        // From 2023-11-14 22:13:20 UTC to 2025-11-14 22:13:20 UTC.
        #expect(rings["seoul"]?.count == 731 && rings["new-york"]?.count == 731)
        #expect(rings["work"]?.count == 523)
        #expect(rings["seoul"]?.allSatisfy { $0 % 86_400 == 21 * 3_600 + 1_800 } == true)
        // 02:30 in New York is 06:30 or 07:30 UTC. On 2024-03-10 and 2025-03-09 it does not exist, and the next time that
        // does is 03:00, which is 07:00 UTC.
        let odd = rings["new-york"]?.filter { ![6 * 3_600 + 1_800, 7 * 3_600 + 1_800].contains($0 % 86_400) }
        #expect(odd == [1_710_054_000, 1_741_503_600])
        // 01:30 on 2024-11-03 and 2025-11-02 comes twice; both are Sundays, so the first weekday after is looked at.
        #expect(rings["work"]?.contains(1_730_788_200 - 86_400) == true)
    }
}
