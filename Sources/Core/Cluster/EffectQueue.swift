/// The effects of a machine that its shell has not carried out yet, in order.
///
/// To carry out an effect may bring the machine another input. That input is handled at once, but its effects come after
/// those that are in the queue already.
package struct EffectQueue<Effect> {
    /// The effects that the machine has added.
    package var added: [Effect] = []
    /// The effects that are carried out at present, and how many of them were taken.
    private var batch: [Effect] = []
    private var taken = 0
    private var isPerforming = false

    /// Creates an empty queue.
    package init() {}

    /// Begins to carry out the effects; returns `false` if the shell is in the midst of that already.
    package mutating func begin() -> Bool {
        guard !isPerforming else { return false }
        isPerforming = true
        return true
    }

    /// Takes the next effect; `nil` when none is left.
    package mutating func next() -> Effect? {
        if taken == batch.count {
            batch.removeAll(keepingCapacity: true)
            taken = 0
            guard !added.isEmpty else { return nil }
            swap(&batch, &added)
        }
        defer { taken += 1 }
        return batch[taken]
    }

    /// Ends what ``begin()`` has begun.
    package mutating func end() { isPerforming = false }

    /// Drops all effects: the machine's run is over.
    package mutating func removeAll() {
        added = []
        batch = []
        taken = 0
    }
}
