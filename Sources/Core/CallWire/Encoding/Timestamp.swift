public import CallCore
public import JSON

/// Formats moments as text (RFC 3339), without the formatters that need half a megabyte of locale data per language.
public enum Timestamp {
    /// Returns a moment in UTC with milliseconds: `2026-11-21T08:47:03.250Z`.
    public static func text(_ moment: Moment) -> String {
        let parts = Parts(moment)
        guard let (first, second, third) = parts.words else { return parts.text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        for word in [first, second, third] {
            for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word &>> UInt64(8 &* index))) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The numbers of a moment's text.
    fileprivate struct Parts {
        let year, month, day, hour, minute, second, millisecond: Int64

        init(_ moment: Moment) {
            let days = floorDivide(moment.milliseconds, 86_400_000)
            let rest = moment.milliseconds - days * 86_400_000
            (year, month, day) = civil(days)
            (hour, minute, second, millisecond) = (
                rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60, rest % 1_000
            )
        }

        /// The 24 bytes of the text as three words, the first byte the lowest of a word; `nil` if the year has not four
        /// digits.
        ///
        /// In words the text needs no string and no memory.
        var words: (UInt64, UInt64, UInt64)? {
            guard (0...9_999).contains(year) else { return nil }
            let date = two(year / 100) | two(year % 100) &<< 16 | byte("-") &<< 32 | two(month) &<< 40
            let middle = two(day) | byte("T") &<< 16 | two(hour) &<< 24 | byte(":") &<< 40 | two(minute) &<< 48
            let fraction = (0x30 + UInt64(millisecond / 100)) &<< 32 | two(millisecond % 100) &<< 40
            let end = byte(":") | two(second) &<< 8 | byte(".") &<< 24 | fraction | byte("Z") &<< 56
            return (date | byte("-") &<< 56, middle, end)
        }

        var text: String {
            "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(hour, 2)):\(pad(minute, 2))"
                + ":\(pad(second, 2)).\(pad(millisecond, 3))Z"
        }

        private func byte(_ character: Unicode.Scalar) -> UInt64 { UInt64(character.value) }

        /// The two digits of a number below 100.
        private func two(_ number: Int64) -> UInt64 { UInt64(0x30 + number / 10) | UInt64(0x30 + number % 10) &<< 8 }
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

extension JSONWriter {
    /// Writes a moment as the string that ``Timestamp/text(_:)`` returns.
    public mutating func timestamp(_ moment: Moment) {
        let parts = Timestamp.Parts(moment)
        if let words = parts.words { plain(words) } else { plain(parts.text) }
    }
}
