import Threads

/// Lets through what the other side can take: whoever brings more waits.
///
/// @unchecked: the state is touched under the lock only.
final class Valve: @unchecked Sendable {
    private let changed = Condition()
    private let limit: Int
    private var underWay = 0
    private var isOpenForGood = false

    init(limit: Int) { self.limit = limit }

    /// Waits until less than the limit is under way, then counts these.
    func enter(_ bytes: Int) {
        changed.lock()
        while underWay >= limit, !isOpenForGood { changed.wait() }
        underWay += bytes
        changed.unlock()
    }

    /// These have been taken.
    func leave(_ bytes: Int) {
        changed.lock()
        underWay -= bytes
        changed.signal()
        changed.unlock()
    }

    /// Nobody waits any more, ever: the other side has stopped.
    func openForGood() {
        changed.lock()
        isOpenForGood = true
        changed.broadcast()
        changed.unlock()
    }
}
