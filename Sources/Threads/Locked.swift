internal import Glibc

/// A value behind a `pthread_mutex_t`.
///
/// It is not `Synchronization.Mutex`, whose futexes ThreadSanitizer does not see on Linux: it reports every access
/// behind one as a race. Where threads meet, a clean report is worth more than the shorter code.
package final class Locked<Value>: @unchecked Sendable {
    // @unchecked: the value is touched only while the mutex is locked.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    /// Creates a lock around this value.
    package init(_ value: Value) {
        self.value = value
        // With default attributes glibc's initialization cannot fail, and neither can locking a mutex that the thread
        // does not hold.
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the value; `body` must not call this method on the same lock.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
