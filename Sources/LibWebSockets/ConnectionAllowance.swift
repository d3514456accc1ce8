internal import Synchronization

/// How many sockets the loops of one server have together, and may have: the limit is the process's, whatever loop the kernel
/// hands a connection to.
final class ConnectionAllowance: Sendable {
    private let limit = Atomic<Int>(0)
    private let taken = Atomic<Int>(0)

    /// As many as descriptors allow, which is known once the library was asked.
    func set(limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// Sockets at the moment, of all loops.
    var count: Int { taken.load(ordering: .relaxed) }

    /// Whether there may be one more, which then counts; `leaving` are on their way out.
    func take(besides leaving: Int) -> Bool {
        let most = limit.load(ordering: .relaxed) + leaving
        guard taken.wrappingAdd(1, ordering: .relaxed).newValue > most else { return true }
        giveBack()
        return false
    }

    /// Whether there may not be one more.
    func isUsedUp(besides leaving: Int) -> Bool { count >= limit.load(ordering: .relaxed) + leaving }

    func giveBack() { taken.wrappingSubtract(1, ordering: .relaxed) }
}
