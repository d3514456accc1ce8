internal import Glibc

/// Readings of the system's clocks, in milliseconds.
package enum SystemClock {
    /// Returns the time since 1970 (`CLOCK_REALTIME`).
    ///
    /// An administrator, NTP, or a host that resumes a virtual machine may set this clock at any time.
    package static func wall() -> Int64 { milliseconds(of: CLOCK_REALTIME) }

    /// Returns the time since the machine booted, including its sleep (`CLOCK_BOOTTIME`); this clock cannot be set.
    ///
    /// `ContinuousClock` is the same clock. Threads that wait use `ContinuousClock`, and code that takes times as
    /// numbers uses this function.
    package static func boot() -> Int64 { milliseconds(of: CLOCK_BOOTTIME) }

    private static func milliseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        // `clock_gettime` fails only for a clock that does not exist; Linux has had both clocks since 2.6.39.
        _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}

/// The wall clock and the boot clock, read at one moment.
package struct ClockReading: Equatable, Sendable {
    /// Milliseconds since the machine booted.
    package var boot: Int64
    /// Milliseconds since 1970.
    package var wall: Int64

    /// Creates a reading of these figures.
    package init(boot: Int64, wall: Int64) {
        self.boot = boot
        self.wall = wall
    }

    /// Reads both clocks of the system.
    package static func now() -> Self { Self(boot: SystemClock.boot(), wall: SystemClock.wall()) }
}
