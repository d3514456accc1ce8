internal import Glibc

/// A value behind a `pthread_mutex_t`.
///
/// Not `Synchronization.Mutex`, whose futexes ThreadSanitizer does not see on Linux: it reports every access behind one as a
/// race, and where threads meet a clean report is worth more than the word it saves.
package final class Locked<Value>: @unchecked Sendable {
    // @unchecked: the value is touched under the mutex only.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    /// A lock around this value.
    package init(_ value: Value) {
        self.value = value
        // With default attributes glibc's cannot fail; nor can locking one that the thread does not hold.
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` alone with the value; `body` must not come back here.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
