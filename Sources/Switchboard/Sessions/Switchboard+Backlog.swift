import CallCore
import CallWire

/// Flow control: signals and texts to a connection that does not keep up are refused before its queue overflows.
extension Switchboard {
    /// Writes to a connection a frame that another user caused.
    @inline(__always)
    mutating func send(_ frame: [UInt8], to session: Session, at now: Moment) {
        turn.out.append(.send(session.id, frame))
        if session.backlog.write(frame.count) > SwitchboardLimits.confirmedEvery { growsLong(session, at: now) }
    }

    /// Requests a pong that shows how much has arrived, and marks the connection if senders must wait for it.
    mutating func growsLong(_ session: Session, at now: Moment) {
        if !session.backlog.awaitsPong { ping(session, at: now) }
        guard !session.isBacklogged, session.backlog.bytes > policy.backlogBytes else { return }
        session.isBacklogged = true
        metrics.backlogged += 1
        trace(from: .connections, .backlogged(session.id, bytes: session.backlog.bytes))
    }

    /// Removes a connection from the count of those that do not keep up.
    mutating func isNotBacklogged(_ session: Session) {
        guard session.isBacklogged else { return }
        session.isBacklogged = false
        metrics.backlogged -= 1
        trace(from: .connections, .caughtUp(session.id))
    }

    /// Whether a connection has too many unconfirmed bytes to be sent a frame of this size.
    ///
    /// Small frames may use twice the limit, so that a flood of large frames does not block an honest peer's
    /// candidates.
    private func isTooFarBehind(_ session: Session, for byteCount: Int) -> Bool {
        guard session.isBacklogged else { return false }
        return byteCount > SwitchboardLimits.smallFrame || session.backlog.bytes > 2 * policy.backlogBytes
    }

    /// Returns why a signal must wait for its recipient; `nil` = it need not.
    ///
    /// Signals that ring, answer, connect or end a call never wait. A resend of a signal that was accepted never waits
    /// either.
    mutating func backlogRefusal(
        of signal: Signal,
        for call: Call,
        from side: Side,
        _ phone: Phone,
        at now: Moment
    ) -> WireError? {
        switch signal.content {
        case .offer, .ringing, .answer, .connected, .end: return nil
        case .ice, .update, .dtmf, .info: break
        }
        if let id = signal.id, call.session.hasTaken(id, from: phone, on: side) { return nil }
        let entry = call.session.entry(of: signal, from: side, phone, at: now)
        let isHeldUp = connections.of(call.user(on: side.other)).contains { session in
            isTooFarBehind(session, for: signal.byteCount) && !session.replays(call.number)
                && call.session.sees(entry, side: side.other, phone: session.phone)
        }
        return isHeldUp ? refusalForBacklog() : nil
    }

    /// Returns why a text must wait for its recipient's connections; `nil` = it need not.
    mutating func backlogRefusal(ofBytes byteCount: Int, to sessions: [Session]) -> WireError? {
        sessions.contains { isTooFarBehind($0, for: byteCount) } ? refusalForBacklog() : nil
    }

    private mutating func refusalForBacklog() -> WireError {
        metrics.limited[.backlog] += 1
        return WireError(.rateLimited, "the peer's connection does not keep up")
    }

    /// Whether the server's state may require refusing signals.
    var isRestrained: Bool {
        connections.isDraining || metrics.isStalled || metrics.backlogged > 0 || !limits.quotas.exhausted.isEmpty
    }
}
