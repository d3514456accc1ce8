import CallCore
import SeededRandom
import Testing
import TimeZones

@Suite("The rules of a time zone")
struct TimeZoneRulesTests {
    @Test("The fixture has all its zones, and the three kinds of lines")
    func fixtureIsRead() {
        #expect(Fixture.zones.count == 33)
        #expect(Fixture.zones.reduce(0) { $0 + $1.offsets.count } > 600)
        #expect(Fixture.zones.reduce(0) { $0 + $1.locals.count } > 900)
    }

    @Test("Offsets around each transition from 2024 to 2030 are those of Python's zoneinfo", arguments: Fixture.zones)
    func offsets(_ zone: Fixture.Zone) {
        for (second, offset) in zone.offsets {
            #expect(zone.rules.offset(at: Moment(milliseconds: second * 1_000)) == offset, "at \(second)")
            #expect(zone.rules.offset(at: Moment(milliseconds: second * 1_000 + 999)) == offset, "at \(second).999")
        }
    }

    @Test("Local times around each transition are the moments that Python's zoneinfo gives", arguments: Fixture.zones)
    func moments(_ zone: Fixture.Zone) throws {
        for (time, second) in zone.locals {
            #expect(try zone.rules.moment(of: local(time)).milliseconds == second * 1_000, "\(time)")
        }
    }

    @Test(
        "Known local times are the expected moments in UTC",
        arguments: [
            // The gap from 02:00 to 03:00, and the hour that comes twice.
            ("Europe/Berlin", "2026-03-29T01:59", "2026-03-29T00:59"),
            ("Europe/Berlin", "2026-03-29T02:00", "2026-03-29T01:00"),
            ("Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:00"),
            ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00"),
            ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30"),
            ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00"),
            // A gap of half an hour, in the south.
            ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:30"),
            ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45"),
            // Summer time across the year's end.
            ("Pacific/Auckland", "2026-12-31T23:00", "2026-12-31T10:00"),
            ("Pacific/Auckland", "2027-01-01T01:00", "2026-12-31T12:00"),
            // Standard time in summer, and a negative daylight saving time in winter.
            ("Europe/Dublin", "2050-07-01T12:00", "2050-07-01T11:00"),
            ("Europe/Dublin", "2050-12-01T12:00", "2050-12-01T12:00"),
            // One hour back in Ramadan, and for good since September 2026.
            ("Africa/Casablanca", "2026-02-15T02:30", "2026-02-15T01:30"),
            ("Africa/Casablanca", "2026-03-22T02:30", "2026-03-22T02:00"),
            ("Africa/Casablanca", "2026-09-20T01:30", "2026-09-20T00:30"),
            ("Africa/El_Aaiun", "2026-09-19T12:00", "2026-09-19T11:00"),
            ("Africa/El_Aaiun", "2027-03-01T12:00", "2027-03-01T12:00"),
            // Friday did not exist.
            ("Pacific/Apia", "2011-12-29T23:59", "2011-12-30T09:59"),
            ("Pacific/Apia", "2011-12-30T00:00", "2011-12-30T10:00"),
            ("Pacific/Apia", "2011-12-30T23:59", "2011-12-30T10:00"),
            ("Pacific/Apia", "2011-12-31T00:00", "2011-12-30T10:00"),
            ("Pacific/Apia", "2011-12-31T00:01", "2011-12-30T10:01"),
            ("Asia/Seoul", "2026-12-01T06:30", "2026-11-30T21:30"),
            ("UTC", "0001-01-01T00:00", "0001-01-01T00:00"),
        ]
    )
    func known(_ name: String, _ time: String, _ utc: String) throws {
        #expect(try Fixture.zone(name).rules.moment(of: local(time)) == .utc(utc))
    }

    @Test("A later local time never has an earlier moment, and none is before clocks show it", arguments: Fixture.zones)
    func isMonotonic(_ zone: Fixture.Zone) throws {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<60 {
            let date = CivilDate(daysSince1970: -30_000 + generator.below(80_000))
            var last = Moment(milliseconds: .min)
            for minute in stride(from: 0, to: 1_440, by: 10) {
                let time = try #require(TimeOfDay(hour: minute / 60, minute: minute % 60))
                let wanted = LocalTime(date: date, time: time)
                let moment = zone.rules.moment(of: wanted)
                #expect(moment >= last)
                last = moment
                let shown = try #require(zone.rules.local(at: moment))
                let shownBefore = try #require(zone.rules.local(at: moment + .milliseconds(-1)))
                #expect(shown >= wanted && shownBefore < wanted, "\(wanted)")
            }
        }
    }

    @Test("A gap shortly before another change still ends at its own first moment")
    func closeChanges() throws {
        var file = TZifFile()
        file.types = [0, 3_600]
        file.transitions = [(7_200, 1), (14_400, 0)]
        file.footer = "\n\n"
        let rules = try TimeZoneRules(tzif: file.bytes)
        #expect(try rules.moment(of: local("1970-01-01T02:30")) == Moment(milliseconds: 7_200_000))
        #expect(try rules.moment(of: local("1970-01-01T04:30")) == Moment(milliseconds: 12_600_000))
        #expect(try rules.moment(of: local("1970-01-01T05:30")) == Moment(milliseconds: 19_800_000))
    }

    @Test("The ends of the moments' and the dates' ranges have offsets and moments", arguments: Fixture.zones)
    func ends(_ zone: Fixture.Zone) throws {
        let day = 86_400
        for moment in [Moment(milliseconds: .min), Moment(milliseconds: .max)] {
            #expect((-day...day).contains(zone.rules.offset(at: moment)))
        }
        let (midnight, late) = try (#require(TimeOfDay("00:00")), #require(TimeOfDay("23:59")))
        let first = zone.rules.moment(of: LocalTime(date: .first, time: midnight))
        let last = zone.rules.moment(of: LocalTime(date: .last, time: late))
        #expect(zone.rules.date(at: first) == .first && zone.rules.date(at: last) == .last)
        #expect(zone.rules.date(at: Moment(milliseconds: .max)) == .last)
        #expect(zone.rules.date(at: Moment(milliseconds: .min)) == .first)
    }
}
