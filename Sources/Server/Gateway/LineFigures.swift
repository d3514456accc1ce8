/// How many lines are missing in a log.
package struct LineFigures: Equatable, Sendable {
    /// The number of lines that could not be written.
    package var dropped: UInt64
    /// The number of lines that were only counted in a sum, because unauthenticated clients or accounts caused too
    /// many.
    package var suppressed: UInt64

    /// Creates the figures; default no missing line.
    package init(dropped: UInt64 = 0, suppressed: UInt64 = 0) {
        self.dropped = dropped
        self.suppressed = suppressed
    }
}
