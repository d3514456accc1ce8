/// The rule for times after a TZif file's last transition: the TZ string in its footer.
///
/// The grammar is POSIX's for the variable `TZ`, with the extension of TZif version 3 that a change may be up to 167
/// hours before or after its day's start (RFC 9636, section 3.3). Daylight saving time may be behind standard time,
/// as in `IST-1GMT0,M10.5.0,M3.5.0/1` of Europe/Dublin.
struct FooterRule: Equatable, Sendable {
    /// The offset of standard time in seconds east of UTC.
    let standardOffset: Int
    /// `nil` if standard time holds for the whole year.
    let daylight: Daylight?

    struct Daylight: Equatable, Sendable {
        /// The offset of daylight saving time in seconds east of UTC.
        let offset: Int
        /// When daylight saving time starts, in standard time.
        let start: YearlyTime
        /// When it ends, in daylight saving time; in the southern hemisphere the end precedes the start in a year.
        let end: YearlyTime
    }

    /// A day of each year, and the seconds from its start, from -167 to 167 hours.
    struct YearlyTime: Equatable, Sendable {
        let day: Day
        let seconds: Int

        /// Returns the time in this year, in seconds since 1970 of a clock with the offset 0.
        func second(inYear year: Int) -> Int {
            let newYear = Gregorian.day(year: year, month: 1, day: 1)
            let number =
                switch day {
                case .notCountingLeapDay(let number):
                    newYear + number - (Gregorian.isLeap(year) && number >= 60 ? 0 : 1)
                case .zeroBased(let number): newYear + number
                case .weekday(let month, let week, let weekday):
                    Self.day(weekday, ofWeek: week, month: month, year: year)
                }
            return number * secondsPerDay + seconds
        }

        private static func day(_ weekday: Int, ofWeek week: Int, month: Int, year: Int) -> Int {
            let first = Gregorian.day(year: year, month: month, day: 1)
            // 1970-01-01 was a Thursday, which POSIX numbers 4.
            let day = modulo(weekday - first - 4, 7) + (week - 1) * 7
            // Week 5 is the last one, also in a month with only four such weekdays.
            return first + (day < Gregorian.dayCount(ofMonth: month, inYear: year) ? day : day - 7)
        }
    }

    enum Day: Equatable, Sendable {
        /// `Jn`: day 1 to 365 of a year in which 29 February is not counted.
        case notCountingLeapDay(Int)
        /// `n`: day 0 to 365, with 29 February counted.
        case zeroBased(Int)
        /// `Mm.w.d`: weekday 0 (Sunday) to 6 of week 1 to 5 of a month; 5 means the last one.
        case weekday(month: Int, week: Int, weekday: Int)
    }

    /// Returns the offset at a second since 1970, in seconds east of UTC.
    func offset(at second: Int) -> Int {
        guard daylight != nil else { return standardOffset }
        var latest = Int.min
        var offset = standardOffset
        let year = Gregorian.year(ofSecond: second)
        // A change may be 8 days from its year, so even two years ago is the year of a possible latest change.
        for year in (year - 2)...(year + 1) {
            // If a year's end and the next year's start coincide, the start decides: this is how a file says that
            // daylight saving time never ends (RFC 9636, section 3.3).
            for change in changes(inYear: year) where change.second <= second && change.second >= latest {
                latest = change.second
                offset = change.offset
            }
        }
        return offset
    }

    /// Returns when the offset changes to what in a year, in seconds since 1970.
    func changes(inYear year: Int) -> [(second: Int, offset: Int)] {
        guard let daylight else { return [] }
        return [
            (daylight.start.second(inYear: year) - standardOffset, daylight.offset),
            (daylight.end.second(inYear: year) - daylight.offset, standardOffset),
        ]
    }
}

extension FooterRule {
    /// Reads a TZ string; `nil` if it has any other form.
    ///
    /// A daylight saving time without its start and end is refused: POSIX leaves its meaning to the implementation.
    init?(_ text: some Sequence<UInt8>) {
        var reader = TZStringReader(rest: Array(text)[...])
        guard reader.skipName(), let standard = reader.offset() else { return nil }
        standardOffset = standard
        guard !reader.rest.isEmpty else {
            daylight = nil
            return
        }
        guard reader.skipName() else { return nil }
        var saving = standard + 3_600
        if reader.rest.first != UInt8(ascii: ",") {
            guard let offset = reader.offset() else { return nil }
            saving = offset
        }
        guard let start = reader.yearlyTime(), let end = reader.yearlyTime(), reader.rest.isEmpty else { return nil }
        daylight = Daylight(offset: saving, start: start, end: end)
    }
}

/// Reads the parts of a TZ string, one after the other.
private struct TZStringReader {
    /// The bytes that were not read yet.
    var rest: ArraySlice<UInt8>

    /// Skips the name of a time, such as `CET` or `<+03>`; returns whether there is one.
    mutating func skipName() -> Bool {
        if skip("<") {
            let name = rest.prefix { Self.isLetter($0) || Self.isDigit($0) || "+-".utf8.contains($0) }
            rest = rest.dropFirst(name.count)
            return name.count >= 3 && skip(">")
        }
        let name = rest.prefix(while: Self.isLetter)
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    /// Reads an offset, and returns it in seconds east of UTC; POSIX writes it west of UTC.
    mutating func offset() -> Int? { time(maximumHour: 24).map { -$0 } }

    /// Reads a comma, a day, and the time of day after a slash if it is not 02:00:00.
    mutating func yearlyTime() -> FooterRule.YearlyTime? {
        guard skip(","), let day = day() else { return nil }
        guard skip("/") else { return FooterRule.YearlyTime(day: day, seconds: 7_200) }
        return time(maximumHour: 167).map { FooterRule.YearlyTime(day: day, seconds: $0) }
    }

    private mutating func day() -> FooterRule.Day? {
        if skip("J") { return number(in: 1...365).map { .notCountingLeapDay($0) } }
        guard skip("M") else { return number(in: 0...365).map { .zeroBased($0) } }
        guard let month = number(in: 1...12), skip("."), let week = number(in: 1...5), skip("."),
            let weekday = number(in: 0...6)
        else { return nil }
        return .weekday(month: month, week: week, weekday: weekday)
    }

    /// Reads a time with an optional sign, such as `3`, `-1:30` or `+02:00:00`, and returns it in seconds.
    private mutating func time(maximumHour: Int) -> Int? {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        guard let hours = number(in: 0...maximumHour) else { return nil }
        var seconds = hours * 3_600
        for unit in [60, 1] where skip(":") {
            guard let number = number(in: 0...59) else { return nil }
            seconds += number * unit
        }
        return isNegative ? -seconds : seconds
    }

    /// Reads a number of at most three digits.
    private mutating func number(in range: ClosedRange<Int>) -> Int? {
        let digits = rest.prefix(while: Self.isDigit)
        guard (1...3).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return range.contains(number) ? number : nil
    }

    /// Skips one character; returns whether it is next.
    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
