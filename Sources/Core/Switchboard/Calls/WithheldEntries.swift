import CallPorts

/// The entries of a call's log that are shown to nobody yet, because a commit must become durable first.
///
/// They are the end of the log. An entry that changes the call's course waits for its own commit; any other entry waits
/// for the entries before it.
struct WithheldEntries {
    /// The entries from `index` on wait for `ticket`, up to the index of the next wait; oldest first.
    private var waits: [(index: Int, ticket: Ticket)] = []

    /// Whether there are none.
    var isEmpty: Bool { waits.isEmpty }

    /// The index of the first withheld entry; `nil` = all entries are shown.
    var first: Int? { waits.first?.index }

    /// Withholds the entry at an index, and all behind it, until a commit is durable.
    ///
    /// - Returns: Whether the call must be released when this commit is durable; `false` = it already will be.
    mutating func withhold(_ index: Int, until ticket: Ticket) -> Bool {
        guard waits.last?.ticket != ticket else { return false }
        waits.append((index, ticket))
        return true
    }

    /// Releases the entries that wait for no later commit than this one.
    mutating func release(upTo ticket: Ticket) { waits.removeAll { $0.ticket <= ticket } }
}
