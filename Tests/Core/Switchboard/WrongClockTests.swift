import CallCore
import CallPorts
import CallWire
import Testing

@testable import Switchboard

@Suite("Schedules while the wall clock is wrong")
struct WrongClockTests {
    private static let day: Int64 = 86_400
    /// Errors of a wall clock, in seconds.
    static let errors: [Int64] = [600, -600, 50_000, -50_000, 3 * 86_400, -3 * 86_400]

    /// A server with a schedule `s`, that was stopped, and starts again in the second 1,000 with a wrong clock.
    private func rig(due: Int64, daily: Bool, ahead: Int64) throws -> WrongClockRig {
        let rig = WrongClockRig()
        #expect(try rig.make(due: due, daily: daily).status == 200)
        rig.run(to: 1)
        rig.restart(at: 1_000, ahead: ahead)
        return rig
    }

    @Test(
        "A start with a wrong clock that is set right 3 s later rings at the true time, and only then",
        arguments: errors,
        [false, true]
    )
    func startCorrected(_ error: Int64, _ daily: Bool) throws {
        let rig = try rig(due: 1_260, daily: daily, ahead: error)
        rig.run(to: 1_003)
        rig.set(ahead: 0)
        rig.run(to: 1_100)
        #expect(try rig.next() == 1_260)
        rig.run(to: 1_300)
        #expect(rig.rings == [1_260], "\(rig.outcomes)")
        #expect(try rig.next() == (daily ? 1_260 + Self.day : nil))
        rig.run(to: 1_260 + 20 * 600)
        #expect(rig.rings == [1_260])
    }

    @Test("What is due in the minute in which the wall clock proves to be steady rings then", arguments: errors)
    func dueMeanwhile(_ error: Int64) throws {
        for daily in [false, true] {
            let rig = try rig(due: 1_020, daily: daily, ahead: error)
            rig.run(to: 1_003)
            rig.set(ahead: 0)
            rig.run(to: 1_100)
            #expect(rig.rings.count == 1 && (1_063...1_065).contains(rig.rings[0]), "\(rig.outcomes)")
        }
    }

    @Test(
        "A clock that is set right only after ten minutes has rung nothing twice, and misses no more",
        arguments: errors
    )
    func correctedLate(_ error: Int64) throws {
        for daily in [false, true] {
            let rig = try rig(due: 2_400, daily: daily, ahead: error)
            rig.run(to: 1_500)
            rig.set(ahead: 0)
            rig.run(to: 2_000)
            let missed = rig.missed
            #expect(try rig.next() == 2_400, "\(rig.outcomes)")
            rig.run(to: 2_500)
            #expect(rig.rings == [2_400] && rig.missed == missed, "\(rig.outcomes)")
            #expect(try rig.next() == (daily ? 2_400 + Self.day : nil))
        }
    }

    @Test("A time that rang by a clock ten minutes ahead counts as rung, daily and once", arguments: [false, true])
    func rungEarly(_ daily: Bool) throws {
        let rig = try rig(due: 1_620, daily: daily, ahead: 600)
        rig.run(to: 1_021)
        #expect(rig.rings == [1_020])
        rig.set(ahead: 0)
        rig.run(to: 1_700)
        #expect(rig.rings == [1_020], "\(rig.outcomes)")
        #expect(try rig.next() == (daily ? 1_620 + Self.day : nil))
    }

    @Test("A date that rang by a clock a day ahead does not count as rung; a daily call of that hour does")
    func rungADayEarly() throws {
        let rig = WrongClockRig()
        try rig.make("once", due: 1_020 + Self.day, daily: false)
        try rig.make("daily", due: 1_020, daily: true)
        rig.run(to: 1)
        rig.restart(at: 1_000, ahead: Self.day)
        rig.run(to: 1_021)
        // By this clock, the daily call of the true day is missed.
        #expect(rig.missed == [1_020])
        #expect(rig.rings == [1_020, 1_020], "\(rig.outcomes)")
        rig.set(ahead: 0)
        rig.run(to: 1_100)
        #expect(try rig.next("once") == 1_020 + Self.day && rig.next("daily") == 1_020 + Self.day)
        rig.sleep(Self.day - 200)
        rig.run(to: 1_100 + Self.day)
        #expect(rig.rings == [1_020, 1_020, 1_020 + Self.day, 1_020 + Self.day], "\(rig.outcomes)")
    }

    @Test("A time of the true day rings, although a wrong clock rang for another day some hours before")
    func rungThirtyHoursEarly() throws {
        let ahead: Int64 = 30 * 3_600
        let rig = WrongClockRig()
        // By the wrong clock it is the time of the call in the second 1,020; truly it is six hours later.
        try rig.make(due: 22_620, daily: true)
        rig.run(to: 1)
        rig.restart(at: 1_000, ahead: ahead)
        rig.run(to: 1_021)
        #expect(rig.rings == [1_020], "\(rig.outcomes)")
        rig.set(ahead: 0)
        rig.run(to: 1_100)
        #expect(try rig.next() == 22_620)
    }

    @Test("After a pause of hours the next day's call rings")
    func longPause() throws {
        let rig = WrongClockRig()
        try rig.make(due: 60, daily: true)
        rig.run(to: 700)
        rig.pause(15 * 3_600)
        rig.run(to: rig.elapsed + 100)
        #expect(rig.rings == [60] && rig.missed == [])
        #expect(try rig.next() == 60 + Self.day)
    }

    @Test("A time that was missed by a wrong clock rings under another callId", arguments: [false, true])
    func callIDs(_ daily: Bool) throws {
        let rig = try rig(due: 1_260, daily: daily, ahead: 600)
        rig.run(to: 1_003)
        rig.set(ahead: 0)
        rig.run(to: 1_300)
        guard case .history(let calls) = rig.world.kept.run(.history(try user("10"), limit: 10, before: nil)) else {
            return
        }
        #expect(rig.missed == [1_260] && rig.rings == [1_260])
        #expect(Set(calls.map(\.id)).count == 2, "\(calls.map(\.id.text))")
    }

    @Test("A clock that is days behind at a start repeats no daily call, and records none as missed")
    func setBackAtStart() throws {
        for (corrected, expected) in [(Int64(1_003), [Int64(120)]), (2_000, [120, 1_060])] {
            let rig = WrongClockRig()
            try rig.make(due: 120, daily: true)
            rig.run(to: 200)
            // In 20 s, by this clock, it is the time of the call, of three days before.
            rig.restart(at: 1_000, ahead: -900 - 3 * Self.day)
            rig.run(to: corrected)
            rig.set(ahead: 0)
            rig.run(to: corrected + 200)
            #expect(rig.rings == expected && rig.missed == [], "\(rig.outcomes)")
            #expect(try rig.next() == 120 + Self.day)
        }
    }

    @Test("A schedule that was made by a wrong clock has its true next time once the clock is right", arguments: errors)
    func madeMeanwhile(_ error: Int64) throws {
        let rig = WrongClockRig(ahead: error)
        rig.run(to: 2)
        try rig.make(due: 600, daily: true)
        #expect(try rig.next() != nil)
        rig.run(to: 3)
        rig.set(ahead: 0)
        rig.run(to: 100)
        #expect(try rig.next() == 600)
        rig.run(to: 700)
        #expect(rig.rings == [600] && rig.missed == [], "\(rig.outcomes)")
    }

    @Test("A wall clock that is wrong for less than a minute only delays what is due meanwhile")
    func glitch() throws {
        for error in Self.errors {
            let rig = WrongClockRig()
            try rig.make("a", due: 120, daily: true)
            try rig.make("b", due: 240, daily: false)
            rig.run(to: 100)
            rig.set(ahead: error)
            rig.run(to: 150)
            #expect(rig.outcomes == [])
            rig.set(ahead: 0)
            rig.run(to: 300)
            #expect(
                rig.rings.count == 2 && (150...151).contains(rig.rings[0]) && rig.rings[1] == 240,
                "\(rig.outcomes)"
            )
            #expect(rig.missed == [])
        }
    }

    @Test(
        "A wrong wall clock that lasts is followed, and what it missed is due again when it is right",
        arguments: errors
    )
    func stepAndBack(_ error: Int64) throws {
        let rig = WrongClockRig()
        try rig.make("daily", due: 2_040, daily: true)
        try rig.make("once", due: 2_100, daily: false)
        rig.run(to: 100)
        rig.set(ahead: error)
        rig.run(to: 500)
        rig.set(ahead: 0)
        rig.run(to: 600)
        #expect(try rig.next("daily") == 2_040 && rig.next("once") == 2_100, "\(rig.outcomes)")
        rig.run(to: 2_200)
        #expect(rig.rings == [2_040, 2_100], "\(rig.outcomes)")
    }

    @Test("After a step to the right time, what is less than 60 s late rings, and the rest is missed")
    func trueStep() throws {
        let rig = WrongClockRig(ahead: -600)
        rig.run(to: 1)
        for (id, due) in [("a", Int64(0)), ("b", 60), ("c", 120)] { try rig.make(id, due: due, daily: true) }
        rig.run(to: 30)
        rig.set(ahead: 0)
        rig.run(to: 200)
        #expect(rig.missed == [], "a schedule made after a time of it has not missed it: \(rig.outcomes)")
        #expect(rig.rings.count == 2 && (90...92).contains(rig.rings[0]) && rig.rings[1] == 120, "\(rig.outcomes)")
    }

    @Test(
        "While the machine sleeps or is paused a time is missed, and the next one is right",
        arguments: [false, true]
    )
    func paused(_ sleeps: Bool) throws {
        let rig = WrongClockRig()
        try rig.make("daily", due: 3_000, daily: true)
        try rig.make("once", due: 3_060, daily: false)
        try rig.make("later", due: 8_100, daily: true)
        rig.run(to: 700)
        if sleeps { rig.sleep(7_300) } else { rig.pause(7_300) }
        rig.run(to: 8_200)
        #expect(rig.missed == [3_000, 3_060] && rig.rings == [8_100], "\(rig.outcomes)")
        #expect(try rig.next("daily") == 3_000 + Self.day && rig.next("once") == nil)
    }

    @Test("The pause to the next ring is a duration, whatever the wall clock does", arguments: errors)
    func againIsADuration(_ error: Int64) throws {
        let rig = WrongClockRig()
        try rig.make(due: 120, daily: false, more: #","confirm":{"every":200,"times":2}"#)
        rig.run(to: 140)
        #expect(rig.rings == [120])
        rig.set(ahead: error)
        rig.run(to: 400)
        // The first one rang for 10 s.
        #expect(rig.rings.count == 2 && (329...341).contains(rig.rings[1]), "\(rig.outcomes)")
    }

    @Test("A further ring does not wait for days after a start whose clock is behind")
    func againAfterStart() throws {
        let rig = WrongClockRig(ahead: 3 * Self.day)
        try rig.make(due: 120 + 3 * Self.day, daily: false, more: #","confirm":{"every":60,"times":2}"#)
        rig.run(to: 150)
        rig.restart(at: 160, ahead: 0)
        rig.run(to: 300)
        #expect(rig.rings.count == 2, "\(rig.outcomes)")
    }

    @Test("Do-not-disturb ends by the wall clock, once that is steady", arguments: [600, -600] as [Int64])
    func doNotDisturb(_ error: Int64) throws {
        let rig = WrongClockRig(ahead: error)
        let end = Moment(milliseconds: (WrongClockRig.start + 300) * 1_000)
        #expect(try rig.world.reply(try principal("10"), .blocks(.doNotDisturb(until: end))).status == 200)
        rig.set(ahead: 0)
        for (second, isHidden) in [(Int64(290), true), (310, false)] {
            rig.run(to: second)
            let caller = try rig.world.open("11", "a")
            rig.world.send(caller, SwitchboardWorld.offer("c-\(second)", to: "10"))
            #expect((rig.world.record("c-\(second)")?.hidden == .doNotDisturb) == isHidden)
        }
    }

    @Test("A wall clock that leaps to and fro for ever silences no schedule")
    func flapping() throws {
        let rig = WrongClockRig()
        try rig.make(due: 120, daily: true)
        for second in stride(from: Int64(100), to: 400, by: 5) {
            rig.run(to: second)
            rig.set(ahead: second * 1_000)
        }
        #expect(rig.rings.count == 1 && (220...222).contains(rig.rings[0]), "\(rig.outcomes)")
    }

    @Test("A schedule that is gone and then deleted does not come back with the right clock")
    func deletedWhenGone() throws {
        let rig = WrongClockRig(ahead: 600)
        try rig.make(due: 720, daily: false)
        rig.run(to: 140)
        #expect(rig.rings == [120])
        let schedules = ScheduleRig(rig.world)
        #expect(try schedules.ask(.remove(schedules.id("s"))).status == 404)
        #expect(rig.world.kept.schedules.isEmpty)
    }

    @Test("A spent schedule is not counted, and is removed ten minutes after the start")
    func spent() throws {
        let rig = WrongClockRig()
        try rig.make(due: 60, daily: false)
        rig.run(to: 100)
        let schedules = ScheduleRig(rig.world)
        #expect(try schedules.ask(.list).text == #"{"schedules":[]}"#)
        #expect(rig.world.kept.schedules.count == 1 && rig.world.switchboard.metrics.schedules == 0)
        rig.run(to: 700)
        #expect(rig.world.kept.schedules.isEmpty)
    }

    @Test("With schedules alone in the store, a start with a clock far ahead holds a date for an hour")
    func schedulesAlone() throws {
        let rig = try rig(due: 60_000, daily: false, ahead: 3 * Self.day)
        rig.run(to: 1_500)
        #expect(rig.outcomes == [] && rig.world.kept.schedules.count == 1)
        rig.run(to: 1_000 + 3_700)
        #expect(rig.missed == [60_000])
    }

    @Test("With blocks alone in the store, a start with a wrong clock deletes no history for an hour")
    func blocksAlone() throws {
        for ahead in [3 * Self.day, -3 * Self.day] {
            let rig = WrongClockRig()
            #expect(try rig.world.reply(try principal("10"), .blocks(.block(try user("11")))).status == 200)
            rig.run(to: 1)
            rig.restart(at: 1_000, ahead: ahead)
            rig.run(to: 1_000 + 3_500)
            #expect(rig.world.notes == [.oddClock(.seconds(1_000 + ahead))])
            #expect(rig.deletions == 0)
            rig.run(to: 1_000 + 3_700)
            #expect(rig.deletions > 0)
        }
    }

    @Test("The last date is 2199-12-31, by the clocks of its zone")
    func lastDate() throws {
        for (zone, date, time, status) in [
            ("Asia/Seoul", "2200-01-01", "00:00", 400), ("Asia/Seoul", "2199-12-31", "23:59", 200),
            ("America/New_York", "2199-12-31", "23:59", 200), ("America/New_York", "2200-01-01", "00:00", 400),
            ("UTC", "2200-01-01", "00:00", 400),
        ] {
            let rig = ScheduleRig()
            let body = #"{"at":"\#(time)","timeZone":"\#(zone)","on":"\#(date)","from":{"id":"wake"}}"#
            let reply = try rig.ask(.put(rig.id("s"), try ScheduleForm(body: Array(body.utf8))))
            #expect(reply.status == status, "\(zone) \(date)")
            if status == 200 {
                let next = try #require(rig.world.kept.schedules.first?.next)
                #expect(StorableRange.moments.contains(next.milliseconds))
            } else {
                #expect(reply["field"] == "on")
            }
        }
    }
}
