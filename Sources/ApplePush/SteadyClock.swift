import Glibc

/// The clock that nobody sets and that goes on while the machine sleeps (`CLOCK_BOOTTIME`).
enum SteadyClock {
    /// Milliseconds since the machine started.
    @Sendable
    static func milliseconds() -> Int64 {
        var time = timespec()
        // It fails only for a clock that does not exist; Linux has had this one since 2.6.39.
        _ = clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
