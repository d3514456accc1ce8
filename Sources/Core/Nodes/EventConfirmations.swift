/// The owner's record of the events of one link, and of what it has confirmed to the node at the other end.
///
/// An event is confirmed when it has been handled and when everything that was changed until then is durable.
package struct EventConfirmations: Sendable {
    /// The number of the newest event that was handled.
    package var handled: UInt64 = 0
    /// The number of the newest event that was confirmed, or that waits in `unconfirmed`.
    private var noted: UInt64 = 0
    /// Numbers of events, each with the ticket that must be durable before the number is confirmed.
    private var unconfirmed: [(number: UInt64, ticket: UInt64)] = []

    /// Creates the record of a new link.
    package init() {}

    /// The newest event to confirm now; `nil` = no further one can be confirmed.
    ///
    /// Called at the end of a turn. `ticket`: the commit that covers all changes so far.
    package mutating func confirm(after ticket: UInt64, durable: UInt64) -> UInt64? {
        if handled > noted {
            noted = handled
            // While the store is stalled, all events wait for the same commit.
            if unconfirmed.last?.ticket == ticket { unconfirmed.removeLast() }
            unconfirmed.append((handled, ticket))
        }
        var count = 0
        while count < unconfirmed.count, unconfirmed[count].ticket <= durable { count += 1 }
        guard count > 0 else { return nil }
        let newest = unconfirmed[count - 1].number
        unconfirmed.removeFirst(count)
        return newest
    }
}
