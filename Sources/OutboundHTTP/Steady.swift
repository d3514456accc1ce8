import Glibc

/// A moment of the steady clock (`CLOCK_MONOTONIC`), which nobody sets: for deadlines, never for dates.
struct Steady: Comparable, Sendable {
    let milliseconds: Int64

    static func now() -> Steady {
        var time = timespec()
        // It fails only for a clock that does not exist or a pointer that is none.
        _ = clock_gettime(CLOCK_MONOTONIC, &time)
        return Steady(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    func advanced(milliseconds more: Int64) -> Steady {
        let (sum, overflows) = milliseconds.addingReportingOverflow(more)
        return Steady(milliseconds: overflows ? .max : sum)
    }

    static func < (a: Steady, b: Steady) -> Bool { a.milliseconds < b.milliseconds }
}
