public import CallCore

/// Formats moments as text (RFC 3339), without the formatters that need half a megabyte of locale data per language.
public enum Timestamp {
    /// Returns a moment in UTC with milliseconds: `2026-11-21T08:47:03.250Z`.
    public static func text(_ moment: Moment) -> String {
        let milliseconds = moment.milliseconds
        let days = floorDivide(milliseconds, 86_400_000)
        let rest = milliseconds - days * 86_400_000
        let (year, month, day) = civil(days)
        return
            "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(rest / 3_600_000, 2)):\(pad(rest / 60_000 % 60, 2))"
            + ":\(pad(rest / 1_000 % 60, 2)).\(pad(rest % 1_000, 3))Z"
    }

    /// Returns the Gregorian date of a day counted from 1970-01-01.
    ///
    /// The calculation uses eras of 400 years, and years that begin in March.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func floorDivide(_ a: Int64, _ b: Int64) -> Int64 { a >= 0 ? a / b : -((b - 1 - a) / b) }

    private static func pad(_ number: Int64, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
