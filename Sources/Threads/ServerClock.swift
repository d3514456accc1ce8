/// The one clock of a server, for all its threads: ``ServerTime`` with the system's readings.
package final class ServerClock: Sendable {
    private let read: @Sendable () -> ClockReading
    private let time: Locked<ServerTime>

    /// Begins at the wall clock.
    /// - Parameter read: reads both clocks; default the system's.
    package init(_ read: @escaping @Sendable () -> ClockReading = ClockReading.now) {
        self.read = read
        time = Locked(ServerTime(read()))
    }

    /// For deadlines and records: milliseconds since 1970 that never leap and never go back.
    package func now() -> Int64 { look { $0.now } }

    /// For what others sign or check, such as a token's `exp`: milliseconds since 1970 as the world has them.
    package func date() -> Int64 { look { $0.date } }

    /// Both at one moment: adding `now − date` to a date of the world's makes a deadline of it.
    package func nowAndDate() -> (now: Int64, date: Int64) { look { ($0.now, $0.date) } }

    /// How many times the wall clock has leapt.
    package var leaps: UInt64 { look { $0.leaps } }

    /// How far the wall clock is ahead of ``now()``, in milliseconds.
    package var difference: Int64 { look { $0.difference } }

    /// The events since the last time that somebody took them.
    package func takeEvents() -> [ServerTime.Event] { look { $0.takeEvents() } }

    private func look<Value>(_ body: (inout ServerTime) -> Value) -> Value {
        time.withLock { time in
            // Under the lock, so that readings are taken in the order in which they were made.
            var reading = read()
            if time.isSurprising(reading) { reading = read() }
            time.take(reading)
            return body(&time)
        }
    }
}
