import CallCore

/// The events of one kind that a session has sent and that the switchboard has neither acknowledged nor refused yet:
/// its offers, or its ends.
///
/// A session may have several of them to one user at once: a user who hangs up and calls again does not wait for acks,
/// and all of them may become durable in one commit.
struct UnacknowledgedEvents {
    /// The events, each by the id of its frame; oldest first.
    private var events: [(id: String, peer: UserID)] = []

    mutating func append(_ id: String, to peer: UserID) { events.append((id, peer)) }

    /// Whether there is an event to this user.
    func contains(_ peer: UserID) -> Bool { events.contains { $0.peer == peer } }

    /// Removes an event that was acknowledged or refused; does nothing if ``removeFirst(to:)`` has removed it.
    mutating func remove(_ id: String) {
        if let index = events.firstIndex(where: { $0.id == id }) { events.remove(at: index) }
    }

    /// Removes the oldest event to a user; returns whether there was one.
    mutating func removeFirst(to peer: UserID) -> Bool {
        guard let index = events.firstIndex(where: { $0.peer == peer }) else { return false }
        events.remove(at: index)
        return true
    }
}
