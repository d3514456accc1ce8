/// The effects of a machine that its shell has not carried out yet, in order.
///
/// An effect may bring the machine another input. That input is handled at once, but its effects come after those that
/// are in the queue already.
@frozen
package struct EffectQueue<Effect> {
    /// The effects that the machine has added.
    package var added: [Effect] = []
    /// The effects that are being carried out, and how many of them were taken.
    @usableFromInline var batch: [Effect] = []
    @usableFromInline var taken = 0
    @usableFromInline var isPerforming = false

    /// Creates an empty queue.
    @inlinable
    package init() {}

    /// Begins to carry out the effects; returns `false` if the shell is already in the midst of that.
    @inlinable
    package mutating func begin() -> Bool {
        guard !isPerforming else { return false }
        isPerforming = true
        return true
    }

    /// Takes the next effect; `nil` when none is left.
    @inlinable
    package mutating func next() -> Effect? {
        if taken == batch.count {
            // Both buffers are kept, so that a turn allocates nothing.
            batch.removeAll(keepingCapacity: true)
            taken = 0
            guard !added.isEmpty else { return nil }
            swap(&batch, &added)
        }
        defer { taken += 1 }
        return batch[taken]
    }

    /// Ends what ``begin()`` has begun.
    @inlinable
    package mutating func end() { isPerforming = false }

    /// Drops all effects: the machine's run is over.
    package mutating func removeAll() {
        added = []
        batch = []
        taken = 0
    }
}
