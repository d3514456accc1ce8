import CallCore
import LibWebSockets

/// The server's time: the wall clock's, but never going back.
///
/// When the wall clock is set back, deadlines that are counted in it would stand still; this clock then goes on by the
/// monotonic one. When the wall clock leaps ahead (the machine slept), this one leaps with it: rings are over by then.
struct SteadyClock {
    private var last: Int64
    private var lastMonotonic: UInt64

    init() {
        last = Int64(Server.wallClockMilliseconds())
        lastMonotonic = Server.monotonicMilliseconds()
    }

    mutating func now() -> Moment {
        let monotonic = Server.monotonicMilliseconds()
        last = max(last + Int64(monotonic - lastMonotonic), Int64(Server.wallClockMilliseconds()))
        lastMonotonic = monotonic
        return Moment(milliseconds: last)
    }
}
