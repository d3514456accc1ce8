import Testing
import TimeZones

@Suite("Civil dates and times of day")
struct CivilDateTests {
    @Test("Counting days up from 1500 gives each next date of the Gregorian calendar, and the same number back")
    func everyDay() throws {
        var expected = try #require(CivilDate("1500-01-01"))
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var (year, month, day) = (1_500, 1, 1)
        for number in expected.daysSince1970...(expected.daysSince1970 + 600 * 366) {
            let date = CivilDate(daysSince1970: number)
            #expect((date.year, date.month, date.day) == (year, month, day))
            #expect(date.daysSince1970 == number && date >= expected)
            expected = date
            let isLeap = year % 400 == 0 || year % 4 == 0 && year % 100 != 0
            day += 1
            if day > lengths[month - 1] + (isLeap && month == 2 ? 1 : 0) { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
    }

    @Test("Known dates have their number and weekday")
    func known() throws {
        let known: [(String, Int, Weekday)] = [
            ("1970-01-01", 0, .thursday), ("1969-12-31", -1, .wednesday), ("2000-02-29", 11_016, .tuesday),
            ("2026-11-27", 20_784, .friday), ("0001-01-01", -719_162, .monday), ("9999-12-31", 2_932_896, .friday),
        ]
        for (text, number, weekday) in known {
            let date = try #require(CivilDate(text))
            #expect(date.daysSince1970 == number && date.weekday == weekday && date.description == text)
        }
    }

    @Test("Adding days crosses months and leap days, and is clamped to the years 1 to 9999")
    func adding() throws {
        let date = try #require(CivilDate("2028-02-28"))
        #expect(date.adding(days: 1).description == "2028-02-29")
        #expect(date.adding(days: 2).description == "2028-03-01")
        #expect(date.adding(days: -59).description == "2027-12-31")
        #expect(date.adding(days: .max) == .last && date.adding(days: .min) == .first)
        #expect(CivilDate(daysSince1970: .max) == .last && CivilDate(daysSince1970: .min) == .first)
        #expect(CivilDate.last.adding(days: 1) == .last && CivilDate.first.adding(days: -1) == .first)
    }

    @Test(
        "A text that is not exactly a date of the calendar is refused",
        arguments: [
            "", "2026-2-03", "2026-02-3", "2026-02-29", "2100-02-29", "2026-13-01", "2026-00-01", "2026-01-00",
            "2026-04-31", "0000-01-01", "+026-01-01", "2026/01/01", "2026-01-01 ", " 2026-01-01", "2026-01-01T",
            "20260101", "12026-01-01", "٢٠٢٦-01-01", "2026-01-0١", "2026-01-0\0", "-026-01-01", "202a-01-01",
        ]
    )
    func refusedDates(_ text: String) { #expect(CivilDate(text) == nil) }

    @Test(
        "A text that is not exactly hours and minutes is refused",
        arguments: [
            "", "6:30", "06:60", "24:00", "06.30", "06:30:00", "0630", " 6:30", "+6:30", "06:3", "06:3a", "06:30 ",
            "-1:30",
        ]
    )
    func refusedTimes(_ text: String) { #expect(TimeOfDay(text) == nil) }

    @Test("Times of day are read, written and ordered")
    func times() throws {
        let early = try #require(TimeOfDay("06:30"))
        let late = try #require(TimeOfDay("23:59"))
        #expect(early.hour == 6 && early.minute == 30 && early < late && late.description == "23:59")
        #expect(TimeOfDay(hour: 24, minute: 0) == nil && TimeOfDay(hour: 0, minute: -1) == nil)
        #expect(LocalTime(year: 2026, month: 12, day: 1, hour: 6, minute: 5)?.description == "2026-12-01T06:05")
        #expect(LocalTime(year: 2026, month: 2, day: 30, hour: 6, minute: 5) == nil)
    }
}
