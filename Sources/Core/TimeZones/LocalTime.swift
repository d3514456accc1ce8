/// A time of day in hours and minutes, as a clock on the wall shows it.
package struct TimeOfDay: Comparable, Hashable, Sendable, CustomStringConvertible {
    /// The hour, from 0 to 23.
    package let hour: Int
    /// The minute, from 0 to 59.
    package let minute: Int

    /// Creates a time of day; `nil` if the hour is not from 0 to 23 or the minute not from 0 to 59.
    package init?(hour: Int, minute: Int) {
        guard (0...23).contains(hour), (0...59).contains(minute) else { return nil }
        self.hour = hour
        self.minute = minute
    }

    /// Reads a time of day as ISO 8601 writes it, such as `06:30`; `nil` for any other text.
    ///
    /// - Parameter text: Exactly five ASCII characters: two digits, a colon and two digits. `24:00` is not accepted.
    package init?(_ text: String) {
        guard let numbers = digits(of: text, shape: [2, 2], separator: UInt8(ascii: ":")) else { return nil }
        self.init(hour: numbers[0], minute: numbers[1])
    }

    /// Returns whether `a` is earlier in the day than `b`.
    package static func < (a: Self, b: Self) -> Bool { (a.hour, a.minute) < (b.hour, b.minute) }

    /// The time as ISO 8601 writes it, such as `06:30`.
    package var description: String { "\(padded(hour, to: 2)):\(padded(minute, to: 2))" }
}

/// A date and a time of day in some time zone, which ``TimeZoneRules/moment(of:)`` turns into a point in time.
package struct LocalTime: Comparable, Hashable, Sendable, CustomStringConvertible {
    /// The date.
    package let date: CivilDate
    /// The time of day.
    package let time: TimeOfDay

    /// Creates a local time from its two parts.
    package init(date: CivilDate, time: TimeOfDay) {
        self.date = date
        self.time = time
    }

    /// Creates a local time; `nil` if there is no such date or time of day.
    ///
    /// - Parameters:
    ///   - year: The year, from 1 to 9999.
    ///   - month: The month, from 1 to 12.
    ///   - day: The day of the month, from 1.
    ///   - hour: The hour, from 0 to 23.
    ///   - minute: The minute, from 0 to 59.
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int) {
        guard let date = CivilDate(year: year, month: month, day: day),
            let time = TimeOfDay(hour: hour, minute: minute)
        else { return nil }
        self.init(date: date, time: time)
    }

    /// Returns whether a calendar and a clock show `a` before `b`.
    package static func < (a: Self, b: Self) -> Bool { (a.date, a.time) < (b.date, b.time) }

    /// The date and the time as ISO 8601 writes them, such as `2026-12-01T06:30`.
    package var description: String { "\(date)T\(time)" }

    /// The seconds from 1970-01-01T00:00 to this time, as if it was in UTC.
    var seconds: Int { date.daysSince1970 * secondsPerDay + time.hour * 3_600 + time.minute * 60 }
}
