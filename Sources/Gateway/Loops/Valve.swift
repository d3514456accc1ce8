import Glibc

/// Lets through what the other side can take: whoever brings more waits.
///
/// @unchecked: the state is touched under the mutex only.
final class Valve: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let limit: Int
    private var underWay = 0
    private var isOpenForGood = false

    init(limit: Int) {
        self.limit = limit
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Waits until less than the limit is under way, then counts these.
    func enter(_ bytes: Int) {
        pthread_mutex_lock(mutex)
        while underWay >= limit, !isOpenForGood { pthread_cond_wait(changed, mutex) }
        underWay += bytes
        pthread_mutex_unlock(mutex)
    }

    /// These have been taken.
    func leave(_ bytes: Int) {
        pthread_mutex_lock(mutex)
        underWay -= bytes
        pthread_cond_signal(changed)
        pthread_mutex_unlock(mutex)
    }

    /// Nobody waits any more, ever: the other side has stopped.
    func openForGood() {
        pthread_mutex_lock(mutex)
        isOpenForGood = true
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(mutex)
    }
}
