internal import Glibc

/// A lock, and waiting for what it guards to change (`pthread_mutex_t` with `pthread_cond_t`).
///
/// Not Foundation's `NSCondition`, which would bring 46 MB of ICU into the binary; not `Synchronization.Mutex`, which
/// has nothing to wait with, and whose futexes ThreadSanitizer does not see.
package final class Condition: @unchecked Sendable {
    // @unchecked: made once and then touched by pthread's functions only, which any thread may call.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// Unlocked, and nobody waits.
    package init() {
        // None of this can fail with glibc: the attributes are plain flags, and the clock is one that it takes.
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Whoever sets the machine's clock lengthens no wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Waits until nobody has it locked, then locks it (`pthread_mutex_lock`).
    package func lock() { pthread_mutex_lock(mutex) }
    /// Lets the next one in.
    package func unlock() { pthread_mutex_unlock(mutex) }

    /// Wakes one that waits.
    package func signal() { pthread_cond_signal(condition) }

    /// Wakes all that wait.
    package func broadcast() { pthread_cond_broadcast(condition) }

    /// Waits, unlocked, to be woken; it may wake for nothing, so look again.
    package func wait() { pthread_cond_wait(condition, mutex) }

    /// Waits as ``wait()`` does, but no longer than until the deadline.
    /// - Returns: `false` when the deadline has come.
    package func wait(until deadline: Deadline) -> Bool {
        var time = deadline.time
        return pthread_cond_timedwait(condition, mutex, &time) == 0
    }
}

/// A moment of the steady clock (`CLOCK_MONOTONIC`), which nobody sets.
package struct Deadline: Sendable {
    fileprivate let time: timespec

    /// So long from now.
    package init(secondsFromNow seconds: Double) {
        let nanoseconds = Self.nanoseconds(Self.now()) + Int64(seconds * 1_000_000_000)
        time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// Whether it has come.
    package var isPast: Bool { Self.nanoseconds(Self.now()) >= Self.nanoseconds(time) }

    private static func now() -> timespec {
        var time = timespec()
        // It fails only for a clock that does not exist or a pointer that is none.
        _ = clock_gettime(CLOCK_MONOTONIC, &time)
        return time
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
