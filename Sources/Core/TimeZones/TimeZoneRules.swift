package import CallCore

/// The rules of one time zone: how far its clocks are from UTC, at any time.
///
/// The rules come from a TZif file of the system's tzdata (RFC 9636). They are a value that never changes and that all
/// threads can share.
package struct TimeZoneRules: Equatable, Sendable {
    /// The size above which a file is refused, in bytes: the largest of tzdata has less than 4 KiB.
    package static let maximumByteCount = 256 * 1_024

    private let contents: TZifReader.Contents

    /// Reads the bytes of a TZif file of any version (RFC 9636, section 3).
    ///
    /// - Parameter bytes: The whole file, at most ``maximumByteCount`` bytes; they may come from anywhere.
    /// - Throws: ``TZifError`` if the bytes are not a valid file, or count leap seconds.
    package init(tzif bytes: [UInt8]) throws(TZifError) {
        guard bytes.count <= Self.maximumByteCount else { throw .tooLarge }
        var reader = TZifReader(bytes)
        contents = try reader.read()
    }

    /// Returns the offset of local time at a moment, in seconds east of UTC, from -89,999 to 93,599.
    ///
    /// Before the first transition it is the file's first type's; after the last one the footer decides (RFC 9636,
    /// sections 3.2 and 3.3).
    package func offset(at moment: Moment) -> Int { offset(atSecond: floorDivide(Int(moment.milliseconds), 1_000)) }

    /// Returns the first moment at which local clocks show this time or a later one.
    ///
    /// - A time that comes once is that moment.
    /// - A time that does not exist, because clocks are set forward over it, is the first moment after the gap: 02:30
    ///   is 03:00 if clocks go from 02:00 to 03:00. The gap may be longer than a day.
    /// - A time that comes twice, because clocks are set back, is the first of the two.
    ///
    /// So an earlier local time never has a later moment, and two local times share a moment only in one gap.
    package func moment(of local: LocalTime) -> Moment {
        let wanted = local.seconds
        // No offset is larger, so local clocks show less than the wanted time until `start`, and no less from `end`.
        let reach = Int(TZifReader.offsets.upperBound) + 1
        var start = wanted - reach
        for change in changes(after: start, through: wanted + reach) {
            let second = max(start, wanted - offset(atSecond: start))
            if second < change { return Self.moment(second) }
            start = change
        }
        return Self.moment(max(start, wanted - offset(atSecond: start)))
    }

    /// Returns the date that local clocks show at a moment, clamped to the range of the type.
    package func date(at moment: Moment) -> CivilDate {
        let second = floorDivide(Int(moment.milliseconds), 1_000)
        return CivilDate(daysSince1970: floorDivide(second + offset(atSecond: second), secondsPerDay))
    }

    private static func moment(_ second: Int) -> Moment { Moment(milliseconds: 0) + .seconds(Int64(second)) }

    private func offset(atSecond second: Int) -> Int {
        if let footer = contents.footer, isAfterTransitions(second) { return footer.offset(at: second) }
        let count = transitionCount(through: second)
        return Int(count == 0 ? contents.firstOffset : contents.offsets[count - 1])
    }

    /// Returns whether the footer, if there is one, decides about a second since 1970.
    private func isAfterTransitions(_ second: Int) -> Bool { contents.transitions.last.map { second >= $0 } ?? true }

    /// Returns the seconds since 1970 at which the offset may change, ascending.
    private func changes(after start: Int, through end: Int) -> [Int] {
        var changes = contents.transitions[transitionCount(through: start)..<transitionCount(through: end)].map(
            Int.init
        )
        guard let footer = contents.footer, isAfterTransitions(end) else { return changes }
        // A change may be up to 8 days from the year that it belongs to.
        let years = (Gregorian.year(ofSecond: start) - 1)...(Gregorian.year(ofSecond: end) + 1)
        changes += years.flatMap(footer.changes(inYear:)).map(\.second)
            .filter { $0 > start && $0 <= end && isAfterTransitions($0) }
        return changes.sorted()
    }

    /// Returns how many transitions are at this second since 1970 or before.
    private func transitionCount(through second: Int) -> Int {
        var low = 0
        var high = contents.transitions.count
        while low < high {
            let middle = (low + high) / 2
            if contents.transitions[middle] <= second { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
