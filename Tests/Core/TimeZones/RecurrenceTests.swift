import CallCore
import SeededRandom
import Testing
import TimeZones

@Suite("A recurrence")
struct RecurrenceTests {
    private func time(_ text: String) throws -> TimeOfDay { try #require(TimeOfDay(text)) }

    private func date(_ text: String) throws -> CivilDate { try #require(CivilDate(text)) }

    /// Returns all occurrences after a moment and until another, each found from the one before.
    private func occurrences(
        _ recurrence: Recurrence,
        from start: Moment,
        until end: Moment,
        in rules: TimeZoneRules
    ) -> [Moment] {
        var occurrences: [Moment] = []
        var now = start
        while let next = recurrence.next(after: now, in: rules), next < end {
            #expect(next > now)
            occurrences.append(next)
            now = next
        }
        return occurrences
    }

    @Test(
        "In two years, every date has one occurrence at its local time, also when clocks change",
        arguments: ["Asia/Seoul", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"],
        ["00:00", "00:30", "02:00", "02:30", "03:00", "06:30", "23:59"]
    )
    func twoYears(_ name: String, _ text: String) throws {
        let rules = try Fixture.zone(name).rules
        let (first, end) = try (date("2026-01-01"), date("2028-01-01"))
        let midnight = try time("00:00")
        let start = rules.moment(of: LocalTime(date: first, time: midnight)) + .milliseconds(-1)
        let stop = rules.moment(of: LocalTime(date: end, time: midnight))
        let all = occurrences(
            Recurrence(.weekly(Set(Weekday.allCases)), at: try time(text)),
            from: start,
            until: stop,
            in: rules
        )
        #expect(all.count == 730)
        #expect(all.map(rules.date) == (0..<730).map(first.adding))
        var moved: [String] = []
        for occurrence in all {
            let shown = try #require(rules.local(at: occurrence))
            if shown.time.description != text { moved.append(shown.description) }
            // The minute before never shows the same time: of two, it is the first.
            #expect(rules.local(at: occurrence + .milliseconds(-1)).map { $0 < shown } == true)
        }
        // A time that does not exist is the gap's end, and there is one in each of the two years.
        let gaps = [
            "America/New_York 02:00": ["2026-03-08T03:00", "2027-03-14T03:00"],
            "America/New_York 02:30": ["2026-03-08T03:00", "2027-03-14T03:00"],
            "Europe/Berlin 02:00": ["2026-03-29T03:00", "2027-03-28T03:00"],
            "Europe/Berlin 02:30": ["2026-03-29T03:00", "2027-03-28T03:00"],
            "Australia/Lord_Howe 02:00": ["2026-10-04T02:30", "2027-10-03T02:30"],
            "America/Santiago 00:00": ["2026-09-06T01:00", "2027-09-05T01:00"],
            "America/Santiago 00:30": ["2026-09-06T01:00", "2027-09-05T01:00"],
        ]
        #expect(moved == gaps["\(name) \(text)"] ?? [])
    }

    @Test("Every set of weekdays has occurrences on exactly its weekdays")
    func weekdays() throws {
        let rules = try Fixture.zone("Europe/Berlin").rules
        let start = try Moment.utc("2026-03-01T00:00")
        for bits in 1..<128 {
            let weekdays = Set(Weekday.allCases.filter { bits >> ($0.rawValue - 1) & 1 == 1 })
            let all = occurrences(
                Recurrence(.weekly(weekdays), at: try time("02:30")),
                from: start,
                until: start + .seconds(35 * 86_400),
                in: rules
            )
            #expect(all.count == weekdays.count * 5)
            #expect(all.allSatisfy { weekdays.contains(rules.date(at: $0).weekday) })
        }
        #expect(Recurrence(.weekly([]), at: try time("02:30")).next(after: start, in: rules) == nil)
    }

    @Test("The next occurrence is strictly after the moment, to the millisecond")
    func strictlyAfter() throws {
        let rules = try Fixture.zone("Asia/Seoul").rules
        let daily = Recurrence(.weekly(Set(Weekday.allCases)), at: try time("06:30"))
        let today = try Moment.utc("2026-11-30T21:30")
        #expect(daily.next(after: today + .milliseconds(-1), in: rules) == today)
        #expect(daily.next(after: today, in: rules) == today + .seconds(86_400))
        #expect(daily.next(after: today + .milliseconds(1), in: rules) == today + .seconds(86_400))
    }

    @Test("A date's only occurrence is found until it has passed")
    func once() throws {
        let rules = try Fixture.zone("Europe/Berlin").rules
        let recurrence = Recurrence(.once(try date("2026-10-25")), at: try time("02:30"))
        let occurrence = try Moment.utc("2026-10-25T00:30")
        #expect(recurrence.next(after: Moment(milliseconds: .min), in: rules) == occurrence)
        #expect(recurrence.next(after: occurrence + .milliseconds(-1), in: rules) == occurrence)
        #expect(recurrence.next(after: occurrence, in: rules) == nil)
        // When clocks show 02:30 for the second time, the occurrence has passed.
        #expect(recurrence.next(after: occurrence + .seconds(3_599), in: rules) == nil)
        #expect(recurrence.next(after: Moment(milliseconds: .max), in: rules) == nil)
    }

    @Test("A time that comes twice on a day has one occurrence, also for who asks between the two")
    func twice() throws {
        let rules = try Fixture.zone("America/New_York").rules
        let daily = Recurrence(.weekly(Set(Weekday.allCases)), at: try time("01:30"))
        let first = try Moment.utc("2026-11-01T05:30")
        #expect(daily.next(after: first + .milliseconds(-1), in: rules) == first)
        for minutes in [0, 10, 45, 60, 90] {
            #expect(try daily.next(after: first + .seconds(Int64(minutes * 60)), in: rules) == .utc("2026-11-02T06:30"))
        }
    }

    @Test("A day that a zone skips has its occurrence at the next day's start, and one at 00:00 rings once")
    func skippedDay() throws {
        let rules = try Fixture.zone("Pacific/Apia").rules
        let (start, end) = try (Moment.utc("2011-12-28T20:00"), Moment.utc("2012-01-01T20:00"))
        func daily(_ text: String) throws -> [LocalTime?] {
            let recurrence = Recurrence(.weekly(Set(Weekday.allCases)), at: try time(text))
            return occurrences(recurrence, from: start, until: end, in: rules).map(rules.local)
        }
        #expect(
            try daily("06:30")
                == ["2011-12-29T06:30", "2011-12-31T00:00", "2011-12-31T06:30", "2012-01-01T06:30", "2012-01-02T06:30"]
                .map(local).filter { $0 < (try local("2012-01-02T10:00")) }
        )
        #expect(
            try daily("00:00")
                == ["2011-12-29T00:00", "2011-12-31T00:00", "2012-01-01T00:00", "2012-01-02T00:00"]
                .map(local)
        )
        let friday = Recurrence(.once(try date("2011-12-30")), at: try time("06:30"))
        #expect(try friday.next(after: start, in: rules) == .utc("2011-12-30T10:00"))
        let fridays = Recurrence(.weekly([.friday]), at: try time("06:30"))
        #expect(try fridays.next(after: start, in: rules) == .utc("2011-12-30T10:00"))
        #expect(try fridays.next(after: .utc("2011-12-30T10:00"), in: rules) == .utc("2012-01-05T16:30"))
    }

    @Test("A date that comes twice, because a zone repeats a day, has one occurrence")
    func repeatedDay() throws {
        // On Wednesday 7 January 1970 at 12:00, clocks are set back to Tuesday at 12:00.
        let change: Int64 = 6 * 86_400 + 43_200 - 50_400
        var file = TZifFile()
        file.types = [50_400, -36_000]
        file.transitions = [(change, 1)]
        file.footer = "\n\n"
        let rules = try TimeZoneRules(tzif: file.bytes)
        #expect(try rules.local(at: Moment(milliseconds: change * 1_000)) == local("1970-01-06T12:00"))
        let wednesdays = Recurrence(.weekly([.wednesday]), at: try time("06:30"))
        let start = Moment(milliseconds: 0)
        let all = occurrences(wednesdays, from: start, until: start + .seconds(21 * 86_400), in: rules)
        let first = try Moment.utc("1970-01-06T16:30")
        #expect(try all == [first, .utc("1970-01-14T16:30"), .utc("1970-01-21T16:30")])
        // The second time, Wednesday's 06:30 has passed already, and the next one is eight days away.
        #expect(wednesdays.next(after: Moment(milliseconds: change * 1_000), in: rules) == all[1])
    }

    @Test("The next occurrence is the earliest of all dates' that are later", arguments: Fixture.zones)
    func earliest(_ zone: Fixture.Zone) throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<100 {
            let time = try #require(TimeOfDay(hour: generator.below(24), minute: generator.below(60)))
            let weekdays = Set(Weekday.allCases.filter { _ in generator.below(3) == 0 })
            let days = -25_000 + generator.below(60_000)
            let now = Moment(milliseconds: Int64(days) * 86_400_000 + Int64(generator.below(86_400_000)))
            let later = (days - 10...days + 20).map(CivilDate.init(daysSince1970:))
                .filter { weekdays.contains($0.weekday) }
                .map { zone.rules.moment(of: LocalTime(date: $0, time: time)) }.filter { $0 > now }
            #expect(Recurrence(.weekly(weekdays), at: time).next(after: now, in: zone.rules) == later.min())
        }
    }

    @Test("At the ends of time there is an occurrence or none, and the search ends", arguments: Fixture.zones)
    func ends(_ zone: Fixture.Zone) throws {
        let daily = Recurrence(.weekly(Set(Weekday.allCases)), at: try time("12:00"))
        let first = try #require(daily.next(after: Moment(milliseconds: .min), in: zone.rules))
        #expect(zone.rules.date(at: first) == .first)
        #expect(daily.next(after: Moment(milliseconds: .max), in: zone.rules) == nil)
        let last = zone.rules.moment(of: LocalTime(date: .last, time: try time("12:00")))
        #expect(daily.next(after: last + .milliseconds(-1), in: zone.rules) == last)
        #expect(daily.next(after: last, in: zone.rules) == nil)
    }
}
