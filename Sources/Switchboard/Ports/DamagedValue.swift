/// What a store may hand back: what lies beyond was not written by a server, but comes of a damaged disk or of somebody's SQL.
public enum KeptRange {
    /// Moments, in milliseconds since 1970: up to the year 2200.
    public static let moments: ClosedRange<Int64> = 0...7_258_118_400_000
    /// Until when a user does not want to be disturbed: as far ahead as the protocol lets them say.
    public static let untils: ClosedRange<Int64> = 0...1 << 53
    /// Numbers of calls and of what is in them.
    public static let numbers: ClosedRange<Int64> = 1...(1 << 62) - 1
    /// Uses of a name.
    public static let epochs: ClosedRange<Int64> = 1...1 << 31
    /// What is counted.
    public static let counts: ClosedRange<Int64> = 0...1_000_000
}

/// A value that a store holds and that cannot be: see ``KeptRange``.
public struct DamagedValue: Hashable, Sendable {
    /// The table it stands in.
    public var table: String
    /// The column.
    public var column: String
    /// What the row is known by; no secret, but as it was found.
    public var row: String
    /// What was done about it.
    public var remedy: Remedy

    /// What is done about a value that cannot be.
    public enum Remedy: String, Sendable {
        /// The nearest value that can be is read in its place.
        case replaced
        /// The whole row is read as if it were not there; it stays in the database.
        case leftOut = "left out"
    }

    /// A damaged value of all its parts.
    public init(table: String, column: String, row: String, remedy: Remedy) {
        self.table = table
        self.column = column
        self.row = row
        self.remedy = remedy
    }
}
