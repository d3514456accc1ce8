import CallCore

/// Probes: a connection from which a sign of life is awaited is closed as dead if none comes in time.
extension Switchboard {
    /// Sends a probe to a connection; without a sign of life in time, the connection is closed as dead.
    mutating func sendProbe(_ connection: Connection) {
        ping(connection)
        awaitSignOfLife(connection)
    }

    /// Starts waiting for a sign of life from a connection, unless one is awaited already.
    mutating func awaitSignOfLife(_ connection: Connection) {
        guard connection.probedAt == nil else { return }
        connection.probedAt = turn.now
        schedule(.probe(connection.id), at: turn.now + policy.probeTimeout)
    }

    /// Records a sign of life of a connection.
    mutating func heard(_ connection: Connection) {
        connection.heardAt = turn.now
        guard connection.probedAt != nil else { return }
        connection.probedAt = nil
        // The rest of a replay, which may make the device ring, has not been sent: the pong that the replay waits for
        // must still come in time.
        if !connection.replays.isEmpty, connection.backlog.awaitsPong { awaitSignOfLife(connection) }
    }
}
