internal import Synchronization

/// The number of sockets that the event loops of one server have together, and its limit.
///
/// The limit is that of the process, regardless of which loop the kernel gives a connection to.
final class ConnectionAllowance: Sendable {
    private let limit = Atomic<Int>(0)
    private let taken = Atomic<Int>(0)

    /// Sets the limit, which depends on the descriptors and is known only after the library was asked.
    func set(limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// The number of open sockets on all event loops.
    var count: Int { taken.load(ordering: .relaxed) }

    /// Counts one more socket and returns true, or returns false if the limit is reached; `leaving` sockets are
    /// closing.
    func take(besides leaving: Int) -> Bool {
        let most = limit.load(ordering: .relaxed) + leaving
        guard taken.wrappingAdd(1, ordering: .relaxed).newValue > most else { return true }
        giveBack()
        return false
    }

    /// Returns whether the limit is reached; `leaving` sockets are closing.
    func isUsedUp(besides leaving: Int) -> Bool { count >= limit.load(ordering: .relaxed) + leaving }

    func giveBack() { taken.wrappingSubtract(1, ordering: .relaxed) }
}
