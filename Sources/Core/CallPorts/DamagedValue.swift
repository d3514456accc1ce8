/// The ranges of valid values that a store may return.
///
/// A value outside these ranges was not written by a server: it comes from a damaged disk or from SQL that somebody
/// ran.
package enum StorableRange {
    /// Moments, in milliseconds since 1970: up to the second day of the year 2200 in UTC, when it is the year 2200 in
    /// every time zone.
    package static let moments: ClosedRange<Int64> = 0...7_258_204_800_000
    /// Ends of do-not-disturb, in milliseconds since 1970: as far ahead as the protocol allows.
    package static let untils: ClosedRange<Int64> = 0...1 << 53
    /// Numbers of calls and of their entries.
    package static let numbers: ClosedRange<Int64> = 1...(1 << 62) - 1
    /// Epochs of a callId.
    package static let epochs: ClosedRange<Int64> = 1...1 << 31
    /// Counts, such as that of pushes without a reaction.
    package static let counts: ClosedRange<Int64> = 0...1_000_000
}

/// An invalid value in a store: see ``StorableRange``.
package struct DamagedValue: Hashable, Sendable {
    /// The table that contains the value.
    package var table: String
    /// The column that contains the value.
    package var column: String
    /// The key of the row, as it was found; the key contains no secret.
    package var row: String
    /// The remedy that was applied.
    package var remedy: Remedy

    /// The remedy for an invalid value.
    package enum Remedy: String, Sendable {
        /// The nearest valid value is read in its place.
        case replaced
        /// The whole row is ignored when reading; it stays in the database.
        case leftOut = "left out"
    }

    /// A damaged value with the given members.
    package init(table: String, column: String, row: String, remedy: Remedy) {
        self.table = table
        self.column = column
        self.row = row
        self.remedy = remedy
    }
}
