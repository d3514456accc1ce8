internal import Glibc

/// A lock, and a condition variable to wait until the guarded state changes (`pthread_mutex_t` with `pthread_cond_t`).
///
/// It is not Foundation's `NSCondition`, which would add 46 MB of ICU to the binary. It is not `Synchronization.Mutex`
/// either, which has no way to wait, and whose futexes ThreadSanitizer does not see.
package final class Condition: @unchecked Sendable {
    // @unchecked: after initialization only pthread's functions touch the pointers, and any thread may call those.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// Creates an unlocked condition that no thread waits for.
    package init() {
        // None of these calls can fail with glibc: the attributes are plain flags, and it accepts this clock.
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // With the monotonic clock, setting the machine's clock lengthens no wait.
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

    /// Waits until no other thread holds the lock, then locks it (`pthread_mutex_lock`).
    package func lock() { pthread_mutex_lock(mutex) }
    /// Unlocks it, so that the next thread can lock it.
    package func unlock() { pthread_mutex_unlock(mutex) }

    /// Wakes one waiting thread.
    package func signal() { pthread_cond_signal(condition) }

    /// Wakes all waiting threads.
    package func broadcast() { pthread_cond_broadcast(condition) }

    /// Waits, with the lock released, until the thread is woken; it may wake without a reason, so check the state
    /// again.
    package func wait() { pthread_cond_wait(condition, mutex) }

    /// Waits as ``wait()`` does, but at most until the deadline.
    /// - Returns: `false` when the deadline has passed.
    package func wait(until deadline: Deadline) -> Bool {
        var time = deadline.time
        return pthread_cond_timedwait(condition, mutex, &time) == 0
    }
}

/// A moment of the monotonic clock (`CLOCK_MONOTONIC`), which cannot be set.
package struct Deadline: Sendable {
    fileprivate let time: timespec

    /// Creates a deadline this many seconds from now.
    package init(secondsFromNow seconds: Double) {
        let nanoseconds = Self.nanoseconds(Self.now()) + Int64(seconds * 1_000_000_000)
        time = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// Whether the deadline has passed.
    package var isPast: Bool { Self.nanoseconds(Self.now()) >= Self.nanoseconds(time) }

    private static func now() -> timespec {
        var time = timespec()
        // It fails only for a clock that does not exist or an invalid pointer.
        _ = clock_gettime(CLOCK_MONOTONIC, &time)
        return time
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
