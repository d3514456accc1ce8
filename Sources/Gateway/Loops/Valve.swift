import CallPorts
import Threads

/// A bound on the bytes in transit from one thread to another: a producer above the limit waits.
///
/// @unchecked: the state is only accessed under the lock.
final class Valve: @unchecked Sendable {
    private let changed = Condition()
    private let limit: Int
    private var underWay = 0
    private var isOpenForGood = false

    init(limit: Int) { self.limit = limit }

    /// Waits until less than the limit is in transit, and then adds these bytes.
    func enter(_ bytes: Int) {
        changed.lock()
        while underWay >= limit, !isOpenForGood { changed.wait() }
        underWay += bytes
        changed.unlock()
    }

    /// Removes bytes that the other side has taken.
    func leave(_ bytes: Int) {
        changed.lock()
        underWay -= bytes
        changed.signal()
        changed.unlock()
    }

    /// Releases all waiting producers for good, because the other side has stopped.
    func openForGood() {
        changed.lock()
        isOpenForGood = true
        changed.broadcast()
        changed.unlock()
    }
}
