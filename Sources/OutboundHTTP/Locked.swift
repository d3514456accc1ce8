import Glibc

/// A value behind a lock (`pthread_mutex_t`).
///
/// It stands in for the standard library's `Mutex`, whose Linux locks ThreadSanitizer does not see: every use of one would
/// be reported as a race, and a true race be lost among them.
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    /// A lock around this value.
    package init(_ value: Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
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
