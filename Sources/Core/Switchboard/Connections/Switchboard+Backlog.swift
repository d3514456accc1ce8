import CallCore
import CallWire

/// Flow control: signals and texts to a connection that does not keep up are refused before its queue overflows.
extension Switchboard {
    /// Writes to a connection a frame that another user caused.
    @inline(__always)
    mutating func sendFrame(_ frame: [UInt8], to connection: Connection) {
        turn.out.append(.send(connection.id, frame))
        if connection.backlog.write(frame.count) > SwitchboardLimits.confirmedEvery { backlogGrew(connection) }
    }

    /// Requests a pong, which will show how much has arrived, and marks the connection if its backlog is over the
    /// limit.
    mutating func backlogGrew(_ connection: Connection) {
        if !connection.backlog.awaitsPong { ping(connection) }
        guard !connection.isBacklogged, connection.backlog.bytes > policy.backlogBytes else { return }
        connection.isBacklogged = true
        metrics.backlogged += 1
        trace(from: .connections, .backlogged(connection.id, bytes: connection.backlog.bytes))
    }

    /// Removes a connection from the count of those that do not keep up.
    mutating func clearBacklogged(_ connection: Connection) {
        guard connection.isBacklogged else { return }
        connection.isBacklogged = false
        metrics.backlogged -= 1
        trace(from: .connections, .caughtUp(connection.id))
    }

    /// Whether a connection has too many unconfirmed bytes to be sent a frame of this size.
    ///
    /// Small frames may use twice the limit, so that a flood of large frames does not block an honest peer's
    /// candidates.
    private func isTooFarBehind(_ connection: Connection, for byteCount: Int) -> Bool {
        guard connection.isBacklogged else { return false }
        return byteCount > SwitchboardLimits.smallFrame || connection.backlog.bytes > 2 * policy.backlogBytes
    }

    /// Returns the refusal that a signal gets if a connection of the peer does not keep up; `nil` = the signal is
    /// accepted.
    ///
    /// Signals that ring, answer, connect or end a call are never refused for this reason. Nor is a resend of a signal
    /// that was accepted.
    mutating func backlogRefusal(
        of signal: Signal,
        for call: Call,
        from side: Side,
        _ device: DeviceIdentity
    ) -> WireError? {
        switch signal.content {
        case .offer, .ringing, .silenced, .answer, .connected, .confirm, .end: return nil
        case .ice, .update, .dtmf, .info: break
        }
        if let id = signal.id, call.session.hasAccepted(id, signal.kind, from: device, on: side) { return nil }
        let entry = call.session.entry(of: signal, from: side, device, at: turn.now)
        let isHeldUp = connections.of(call.user(on: side.other)).contains { connection in
            isTooFarBehind(connection, for: signal.byteCount) && !connection.replays(call.number)
                && call.session.sees(entry, side: side.other, device: connection.device)
        }
        return isHeldUp ? refusalForBacklog() : nil
    }

    /// Returns the refusal that a text gets if one of these connections does not keep up; `nil` = the text is accepted.
    mutating func backlogRefusal(ofBytes byteCount: Int, to connections: [Connection]) -> WireError? {
        connections.contains { isTooFarBehind($0, for: byteCount) } ? refusalForBacklog() : nil
    }

    private mutating func refusalForBacklog() -> WireError {
        exceeded(.backlog, "the peer's connection does not keep up")
    }

    /// Whether the server's state may require refusing signals.
    var mayRefuseSignals: Bool {
        connections.isDraining || metrics.isStalled || metrics.backlogged > 0 || !limits.quotas.exhausted.isEmpty
    }
}
