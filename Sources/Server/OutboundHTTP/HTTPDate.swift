/// A parser for dates in HTTP headers, as in RFC 9110 (section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns the date in seconds since 1970; `nil` for every other form, including the obsolete ones.
    package static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT", let day = number(words[1], 2, 1...31),
            let month = months.firstIndex(of: String(words[2])), let year = number(words[3], 4, 1970...9999)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], 2, 0...23), let minute = number(clock[1], 2, 0...59),
            let second = number(clock[2], 2, 0...60)
        else { return nil }
        return days(year, Int64(month) + 1, day) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static func number(_ text: Substring, _ digits: Int, _ range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text).flatMap { range.contains($0) ? $0 : nil }
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar.
    ///
    /// Years are counted from March, so that a leap day is the last day of a year.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = (year / 400, year % 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
