internal import Synchronization

/// Counts the open sockets of all event loops of one server, and limits their number.
///
/// The limit applies to the whole process, whichever loop the kernel assigns a connection to.
final class ConnectionAllowance: Sendable {
    private let limit = Atomic<Int>(0)
    private let taken = Atomic<Int>(0)

    /// Sets the limit.
    ///
    /// It depends on the descriptor limit, which is known only after the library's context was created.
    func set(limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// The number of open sockets on all event loops.
    var count: Int { taken.load(ordering: .relaxed) }

    /// Counts one more socket and returns true, or returns false if the limit is reached.
    ///
    /// `leaving` is the number of sockets that are closing; they do not count.
    func admit(leaving: Int) -> Bool {
        let most = limit.load(ordering: .relaxed) + leaving
        guard taken.wrappingAdd(1, ordering: .relaxed).newValue > most else { return true }
        release()
        return false
    }

    /// Returns whether the limit is reached; the `leaving` sockets that are closing do not count.
    func isUsedUp(leaving: Int) -> Bool { count >= limit.load(ordering: .relaxed) + leaving }

    func release() { taken.wrappingSubtract(1, ordering: .relaxed) }
}
