/// The clock that all threads of a server share: ``ServerTime`` with the system's readings.
package final class ServerClock: Sendable {
    private let read: @Sendable () -> ClockReading
    private let time: Monitor<ServerTime>

    /// Creates a clock that begins at the time of the wall clock.
    /// - Parameter read: reads both clocks; by default the system's.
    package init(_ read: @escaping @Sendable () -> ClockReading = ClockReading.now) {
        self.read = read
        time = Monitor(ServerTime(read()))
    }

    /// Returns the time for deadlines and records, in milliseconds since 1970; it never leaps and never goes back.
    package func now() -> Int64 { withTime { $0.now } }

    /// Returns the time for dates that other machines set or check, such as a token's `exp`, in milliseconds since
    /// 1970.
    package func date() -> Int64 { withTime { $0.date } }

    /// Returns ``now()`` and ``date()`` at one moment; a date from another machine plus `now − date` is a deadline.
    package func nowAndDate() -> (now: Int64, date: Int64) { withTime { ($0.now, $0.date) } }

    /// The state of the date at one moment: ``date()`` − ``now()``, how far the date has jumped in all
    /// (``ServerTime/corrected``), whether it can be relied on (``ServerTime/isSteady``), and whether the wall clock and
    /// ``now()`` agree.
    package func lead() -> (milliseconds: Int64, corrected: Int64, isSteady: Bool, agrees: Bool) {
        withTime { ($0.date - $0.now, $0.corrected, $0.isSteady, !$0.hasLeapt) }
    }

    /// The number of times that the wall clock has leapt.
    package var leaps: UInt64 { withTime { $0.leaps } }

    /// The wall clock's lead over ``now()``, in milliseconds.
    package var difference: Int64 { withTime { $0.difference } }

    /// Returns the events since the last call.
    package func takeEvents() -> [ServerTime.Event] { withTime { $0.takeEvents() } }

    private func withTime<Value>(_ body: (inout ServerTime) -> Value) -> Value {
        time.withLock { time in
            // Read under the lock, so that readings are applied in the order in which they were made.
            var reading = read()
            if time.isSurprising(reading) { reading = read() }
            time.take(reading)
            return body(&time)
        }
    }
}
