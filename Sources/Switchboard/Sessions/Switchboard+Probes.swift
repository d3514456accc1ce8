import CallCore

/// Probes: a connection that owes a sign of life is closed as dead if it gives none in time.
extension Switchboard {
    /// Sends a probe to a connection; without a sign of life in time, the connection is closed as dead.
    mutating func askForLife(_ session: Session, at now: Moment) {
        ping(session, at: now)
        owesLife(session, at: now)
    }

    /// Starts waiting for a sign of life from a connection, unless one is awaited already.
    mutating func owesLife(_ session: Session, at now: Moment) {
        guard session.probedAt == nil else { return }
        session.probedAt = now
        schedule(.probe(session.id), at: now + policy.probeFor)
    }

    /// Records a sign of life of a connection.
    mutating func heard(_ session: Session, at now: Moment) {
        session.heardAt = now
        guard session.probedAt != nil else { return }
        session.probedAt = nil
        // The rest of a replay, which may make the device ring, has not been sent: the pong that the replay waits for
        // must still come in time.
        if !session.replays.isEmpty, session.backlog.awaitsPong { owesLife(session, at: now) }
    }
}
