/// How many lines are missing in a log.
public struct LineFigures: Equatable, Sendable {
    /// The number of lines that could not be written.
    public var dropped: UInt64
    /// The number of lines that were only counted in a sum, because strangers or accounts caused too many.
    public var suppressed: UInt64

    /// Creates the figures; default no missing line.
    public init(dropped: UInt64 = 0, suppressed: UInt64 = 0) {
        self.dropped = dropped
        self.suppressed = suppressed
    }
}
