/// A day of the Gregorian calendar, without a time zone.
///
/// The calendar is proleptic: its rules also apply to the years before 1582, as in ISO 8601. Years range from 1 to
/// 9999, so that every date has ten characters as text.
package struct CivilDate: Comparable, Hashable, Sendable, CustomStringConvertible {
    /// The year, from 1 to 9999.
    package let year: Int
    /// The month, from 1 (January) to 12.
    package let month: Int
    /// The day of the month, from 1 to 31.
    package let day: Int

    /// The earliest date: 0001-01-01.
    package static let first = CivilDate(unchecked: (1, 1, 1))
    /// The latest date: 9999-12-31.
    package static let last = CivilDate(unchecked: (9_999, 12, 31))

    private init(unchecked date: (year: Int, month: Int, day: Int)) { (year, month, day) = date }

    /// Creates a date; `nil` if the calendar does not have it, or if the year is not from 1 to 9999.
    package init?(year: Int, month: Int, day: Int) {
        guard (1...9_999).contains(year), (1...12).contains(month), day >= 1,
            day <= Gregorian.dayCount(ofMonth: month, inYear: year)
        else { return nil }
        self.init(unchecked: (year, month, day))
    }

    /// Creates the date that many days after 1970-01-01, clamped to the range of the type.
    ///
    /// - Parameter days: The number of days; negative before 1970.
    package init(daysSince1970 days: Int) {
        let days = min(max(days, Self.first.daysSince1970), Self.last.daysSince1970)
        self.init(unchecked: Gregorian.date(ofDay: days))
    }

    /// Reads a date as ISO 8601 writes it, such as `2026-12-01`; `nil` for any other text.
    ///
    /// - Parameter text: Exactly ten ASCII characters: four digits, a hyphen, two digits, a hyphen and two digits. The
    ///   calendar must have the date.
    package init?(_ text: String) {
        guard let numbers = digits(of: text, shape: [4, 2, 2], separator: UInt8(ascii: "-")) else { return nil }
        self.init(year: numbers[0], month: numbers[1], day: numbers[2])
    }

    /// The number of days since 1970-01-01; negative before.
    package var daysSince1970: Int { Gregorian.day(year: year, month: month, day: day) }

    /// The day of the week.
    package var weekday: Weekday { Weekday(daysSince1970: daysSince1970) }

    /// Returns the date that many days later, or earlier for a negative number, clamped to the range of the type.
    package func adding(days: Int) -> CivilDate {
        let (sum, isBeyond) = daysSince1970.addingReportingOverflow(days)
        return CivilDate(daysSince1970: isBeyond ? (days < 0 ? .min : .max) : sum)
    }

    /// Returns whether `a` is earlier than `b`.
    package static func < (a: Self, b: Self) -> Bool { (a.year, a.month, a.day) < (b.year, b.month, b.day) }

    /// The date as ISO 8601 writes it, such as `2026-12-01`.
    package var description: String { "\(padded(year, to: 4))-\(padded(month, to: 2))-\(padded(day, to: 2))" }
}

/// A day of the week, with the number that ISO 8601 gives it.
package enum Weekday: Int, CaseIterable, Hashable, Sendable {
    /// Monday, the first day of the week in ISO 8601.
    case monday = 1
    /// Tuesday.
    case tuesday
    /// Wednesday.
    case wednesday
    /// Thursday.
    case thursday
    /// Friday.
    case friday
    /// Saturday.
    case saturday
    /// Sunday, the seventh day of the week in ISO 8601.
    case sunday

    fileprivate init(daysSince1970 days: Int) {
        // 1970-01-01 was a Thursday, which has index 3 in the list of all cases.
        self = Self.allCases[modulo(days + 3, 7)]
    }
}

/// The arithmetic of the Gregorian calendar, for all years that a `Moment` can have.
///
/// The algorithms are `days_from_civil` and `civil_from_days` of Howard Hinnant's "chrono-Compatible Low-Level Date
/// Algorithms". They count years from 1 March, so that the leap day is the last day of a year, in eras of 400 years.
enum Gregorian {
    /// The days of 400 years, after which the calendar repeats.
    private static let eraDays = 146_097
    /// The days from 0000-03-01, the start of an era, to 1970-01-01.
    private static let eraStart = 719_468

    static func isLeap(_ year: Int) -> Bool {
        modulo(year, 4) == 0 && (modulo(year, 100) != 0 || modulo(year, 400) == 0)
    }

    static func dayCount(ofMonth month: Int, inYear year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Returns the number of days from 1970-01-01 to a date.
    static func day(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = floorDivide(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * eraDays + dayOfEra - eraStart
    }

    /// Returns the date that many days after 1970-01-01.
    static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
        let day = day + eraStart
        let era = floorDivide(day, eraDays)
        let dayOfEra = day - era * eraDays
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isAfterDecember = month >= 10
        return (
            yearOfEra + era * 400 + (isAfterDecember ? 1 : 0),
            isAfterDecember ? month - 9 : month + 3,
            dayOfYear - (153 * month + 2) / 5 + 1
        )
    }

    /// Returns the year of a second since 1970 in UTC.
    static func year(ofSecond second: Int) -> Int { date(ofDay: floorDivide(second, secondsPerDay)).year }
}

/// The seconds of a day; civil time has no leap seconds.
let secondsPerDay = 86_400

/// Returns the quotient, rounded towards negative infinity; Swift's own operator rounds towards zero.
func floorDivide(_ dividend: Int, _ divisor: Int) -> Int {
    let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
}

/// Returns the remainder of ``floorDivide(_:_:)``, which is never negative.
func modulo(_ dividend: Int, _ divisor: Int) -> Int {
    let remainder = dividend % divisor
    return remainder < 0 ? remainder + divisor : remainder
}

/// Returns the numbers of a text that consists of groups of ASCII digits with one separator between two groups.
///
/// `shape` has the number of digits of each group. The result is `nil` if the text has any other form.
func digits(of text: String, shape: [Int], separator: UInt8) -> [Int]? {
    var rest = Array(text.utf8)[...]
    guard rest.count == shape.reduce(shape.count - 1, +) else { return nil }
    var numbers: [Int] = []
    for (index, count) in shape.enumerated() {
        if index > 0, rest.popFirst() != separator { return nil }
        var number = 0
        for byte in rest.prefix(count) {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
        }
        rest = rest.dropFirst(count)
        numbers.append(number)
    }
    return numbers
}

/// Returns a number with zeros before it, up to this many digits.
func padded(_ number: Int, to count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
}
