/// A point in time, in milliseconds since 1970.
///
/// In the server it is a time of the server's clock. In the client core it is a time of the device's clock, except
/// where a comment says that the time is the server's.
///
/// A moment is always passed as an argument. The pure modules never read a clock, so that a simulator controls the
/// time.
public struct Moment: Comparable, Hashable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// Creates a moment that many milliseconds after the start of 1970.
    @inlinable
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Returns whether `a` is earlier than `b`.
    @inlinable
    public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }

    /// Returns the moment `duration` after `moment`, clamped to the range of the type.
    ///
    /// If the sum wrapped around instead, a deadline in the far future would become a deadline in the far past, or the
    /// other way round. The timer of the deadline would fire at the wrong time or never.
    @inlinable
    public static func + (moment: Self, duration: Duration) -> Self {
        let (sum, isBeyond) = moment.milliseconds.addingReportingOverflow(duration.milliseconds)
        return Moment(milliseconds: isBeyond ? (duration.milliseconds < 0 ? .min : .max) : sum)
    }

    /// Returns the moment `duration` before `moment`, clamped to the range of the type.
    @inlinable
    public static func - (moment: Self, duration: Duration) -> Self {
        let (difference, isBeyond) = moment.milliseconds.subtractingReportingOverflow(duration.milliseconds)
        return Moment(milliseconds: isBeyond ? (duration.milliseconds < 0 ? .max : .min) : difference)
    }

    /// Returns the time from `b` to `a`, clamped to the range of the type.
    @inlinable
    public static func - (a: Self, b: Self) -> Duration {
        let (difference, isBeyond) = a.milliseconds.subtractingReportingOverflow(b.milliseconds)
        return Duration(milliseconds: isBeyond ? (a < b ? .min : .max) : difference)
    }

    /// A length of time in whole milliseconds.
    public struct Duration: Comparable, Hashable, Sendable {
        /// The length in milliseconds.
        public let milliseconds: Int64

        /// Creates a duration of that many milliseconds.
        @inlinable
        public init(milliseconds: Int64) { self.milliseconds = milliseconds }

        /// Returns a duration of that many milliseconds.
        @inlinable
        public static func milliseconds(_ count: Int64) -> Self { Self(milliseconds: count) }

        /// Returns a duration of that many seconds, clamped to the range of the type.
        @inlinable
        public static func seconds(_ count: Int64) -> Self {
            let (product, isBeyond) = count.multipliedReportingOverflow(by: 1_000)
            return Self(milliseconds: isBeyond ? (count < 0 ? .min : .max) : product)
        }

        /// Returns whether `a` is shorter than `b`.
        @inlinable
        public static func < (a: Self, b: Self) -> Bool { a.milliseconds < b.milliseconds }
    }
}
