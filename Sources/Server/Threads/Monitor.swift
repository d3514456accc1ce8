internal import Glibc

/// A value that only one thread at a time can access, and on which threads can wait for each other (`pthread_mutex_t`
/// with `pthread_cond_t`).
///
/// Each access wakes the threads that wait, so no code can forget to wake them.
///
/// Foundation's `NSCondition` would add 46 MB of ICU to the binary. `Synchronization.Mutex` has no way to wait, and
/// ThreadSanitizer does not see its futexes on Linux: the sanitizer would report every access to a value behind such a
/// mutex as a race. A clean report is worth more than the shorter code.
package final class Monitor<Value>: @unchecked Sendable {
    // @unchecked: `value` and `hasWaiters` are accessed only while the mutex is locked. After initialization only
    // pthread's functions use the two pointers, and any thread may call these functions.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value
    /// Whether there may be a waiting thread that was not woken yet.
    private var hasWaiters = false

    /// Creates a monitor of this value.
    package init(_ value: Value) {
        self.value = value
        // None of these calls can fail with glibc: the attributes are plain flags, and glibc accepts this clock.
        // Locking cannot fail either, if the thread does not hold the mutex already.
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // Waits use the monotonic clock, so that setting the machine's wall clock does not lengthen them.
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

    /// Runs `body` with exclusive access to the value; `body` must not access the same monitor.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { unlock() }
        return try body(&value)
    }

    /// Waits until `body` returns a result, and returns it.
    ///
    /// `body` runs with exclusive access to the value: immediately, and again after other threads' accesses until
    /// `body` returns something else than `nil`. A `body` that returns `nil` must not change anything that other
    /// threads wait for, because no thread is woken then.
    package func wait<Result>(for body: (inout Value) -> Result?) -> Result {
        pthread_mutex_lock(mutex)
        defer { unlock() }
        while true {
            if let result = body(&value) { return result }
            hasWaiters = true
            pthread_cond_wait(condition, mutex)
        }
    }

    /// Waits as ``wait(for:)`` does, but not beyond the deadline.
    /// - Returns: `nil` if `body` still returned `nil` when the deadline had passed.
    package func wait<Result>(
        until deadline: ContinuousClock.Instant,
        for body: (inout Value) -> Result?
    ) -> Result? {
        pthread_mutex_lock(mutex)
        defer { unlock() }
        while true {
            if let result = body(&value) { return result }
            let left = deadline - .now
            guard left > .zero else { return nil }
            hasWaiters = true
            var end = monotonicTime(in: left)
            pthread_cond_timedwait(condition, mutex, &end)
        }
    }

    private func unlock() {
        let wakes = hasWaiters
        hasWaiters = false
        pthread_mutex_unlock(mutex)
        if wakes { pthread_cond_broadcast(condition) }
    }
}

/// Returns the time of `CLOCK_MONOTONIC` after this duration, but at most after an hour.
///
/// A thread can wait on a condition by this clock, but not by the clock of `ContinuousClock`, which also counts the
/// machine's sleep.
private func monotonicTime(in duration: Duration) -> timespec {
    var time = timespec()
    // `clock_gettime` fails only for a clock that does not exist or an invalid pointer.
    _ = clock_gettime(CLOCK_MONOTONIC, &time)
    let (seconds, attoseconds) = min(duration, .seconds(3_600)).components
    let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000)
    return timespec(
        tv_sec: time.tv_sec + Int(seconds) + nanoseconds / 1_000_000_000,
        tv_nsec: nanoseconds % 1_000_000_000
    )
}
