import Threads

/// A moment of the monotonic clock (`CLOCK_MONOTONIC`), which cannot be set: for deadlines, never for dates.
struct Steady: Comparable, Sendable {
    let milliseconds: Int64

    static func now() -> Steady { Steady(milliseconds: SystemClock.monotonic()) }

    func advanced(milliseconds more: Int64) -> Steady {
        let (sum, overflows) = milliseconds.addingReportingOverflow(more)
        return Steady(milliseconds: overflows ? .max : sum)
    }

    static func < (a: Steady, b: Steady) -> Bool { a.milliseconds < b.milliseconds }
}
