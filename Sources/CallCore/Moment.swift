/// A point in time: milliseconds since 1970, as the server's clock has it.
///
/// It is an argument everywhere and read nowhere in the pure modules, so that a simulator owns time.
public struct Moment: Comparable, Hashable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// A moment so many milliseconds after 1970 began.
    @inlinable
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Whether `a` is earlier than `b`.
    @inlinable
    public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }

    /// The moment `span` after `moment`; never beyond the last or the first there is, as a deadline that has come round to
    /// the other end of time would stop everything that waits for its timer.
    @inlinable
    public static func + (moment: Self, span: Span) -> Self {
        let (sum, isBeyond) = moment.milliseconds.addingReportingOverflow(span.milliseconds)
        return Moment(milliseconds: isBeyond ? (span.milliseconds < 0 ? .min : .max) : sum)
    }

    /// The time from `b` to `a`; never longer than there is.
    @inlinable
    public static func - (a: Self, b: Self) -> Span {
        let (difference, isBeyond) = a.milliseconds.subtractingReportingOverflow(b.milliseconds)
        return Span(milliseconds: isBeyond ? (a < b ? .min : .max) : difference)
    }

    /// A length of time in whole milliseconds.
    public struct Span: Comparable, Hashable, Sendable {
        /// The length in milliseconds.
        public let milliseconds: Int64

        /// A span of so many milliseconds.
        @inlinable
        public init(milliseconds: Int64) { self.milliseconds = milliseconds }

        /// A span of so many milliseconds.
        @inlinable
        public static func milliseconds(_ count: Int64) -> Self { Self(milliseconds: count) }

        /// A span of so many seconds.
        @inlinable
        public static func seconds(_ count: Int64) -> Self { Self(milliseconds: count * 1_000) }

        /// Whether `a` is shorter than `b`.
        @inlinable
        public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }
    }
}
