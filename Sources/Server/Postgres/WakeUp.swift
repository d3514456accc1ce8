import CPostgres
import Glibc

/// Ends the wait of a thread that polls a socket (`eventfd`).
///
/// Any thread may call ``signal()``.
package final class WakeUp: Sendable {
    let descriptor: Int32

    /// Creates a wake-up that is not signalled.
    ///
    /// If the process has no free descriptor, signals have no effect, and waits end at their deadlines.
    package init() { descriptor = cpostgres_wakeup() }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Ends the present wait, or the next one.
    package func signal() { if descriptor >= 0 { cpostgres_wakeup_signal(descriptor) } }

    /// Discards the signals so far.
    package func clear() {
        if descriptor >= 0 { cpostgres_wakeup_clear(descriptor) }
    }

    /// Waits for a signal, until the deadline or for an hour at most, and discards the signals.
    package func wait(until deadline: ContinuousClock.Instant) {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&polled, 1, milliseconds(until: deadline))
        clear()
    }
}

/// Returns the timeout of `poll` for a deadline: the milliseconds until then, rounded up, at most an hour; -1, which
/// means no timeout, without a deadline.
func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
    guard let deadline else { return -1 }
    let (seconds, attoseconds) = max(.zero, deadline - .now).components
    return Int32(min(seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000, 3_600_000))
}
