import CallCore
import CallWire

/// Flow control: a connection that does not keep up makes its senders wait before its queue overflows.
extension Switchboard {
    /// Writes a frame that another user caused to a connection.
    @inline(__always)
    func send(_ frame: [UInt8], to session: Session, at now: Moment) {
        out.append(.send(session.id, frame))
        if session.backlog.write(frame.count) > Session.confirmedEvery { growsLong(session, at: now) }
    }

    /// Asks for a pong that shows how much has arrived, and notes when senders must wait.
    private func growsLong(_ session: Session, at now: Moment) {
        if !session.backlog.awaitsPong { ping(session, at: now) }
        guard !session.isBacklogged, session.backlog.bytes > policy.backlogBytes else { return }
        session.isBacklogged = true
        metrics.backlogged += 1
        noteRestraints()
    }

    /// Something that was written to a connection has arrived.
    func shrank(_ session: Session, at now: Moment) {
        session.probedAt = nil
        if session.isBacklogged, session.backlog.bytes <= policy.backlogBytes { isNotBacklogged(session) }
        if session.backlog.bytes > Session.confirmedEvery { growsLong(session, at: now) }
        continueReplays(to: session, at: now)
    }

    /// Counts a connection no longer among those that do not keep up.
    func isNotBacklogged(_ session: Session) {
        guard session.isBacklogged else { return }
        session.isBacklogged = false
        metrics.backlogged -= 1
        noteRestraints()
    }

    /// Whether a connection is too far behind for a frame of this size.
    ///
    /// Small frames may use twice the limit, so that a flood of large ones does not keep an honest peer's candidates away.
    private func isTooFarBehind(_ session: Session, for byteCount: Int) -> Bool {
        guard session.isBacklogged else { return false }
        return byteCount > Self.smallFrame || session.backlog.bytes > 2 * policy.backlogBytes
    }

    /// The largest small frame, in bytes: a candidate has some 300.
    private static let smallFrame = 1_024

    /// Why a signal must wait for its addressee; `nil` = it need not.
    ///
    /// Never what rings, answers or ends a call, nor a signal that was taken before.
    func backlogRefusal(
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
        let isHeldUp = (sessionsByUser[call.user(on: side.other)] ?? []).contains { session in
            isTooFarBehind(session, for: signal.byteCount) && !session.replays(call.number)
                && call.session.sees(entry, side: side.other, phone: session.phone)
        }
        return isHeldUp ? refusalForBacklog() : nil
    }

    /// Why a text must wait for its addressee's connections; `nil` = it need not.
    func backlogRefusal(ofBytes byteCount: Int, to sessions: [Session]) -> WireError? {
        sessions.contains { isTooFarBehind($0, for: byteCount) } ? refusalForBacklog() : nil
    }

    private func refusalForBacklog() -> WireError {
        metrics.limited[.backlog] += 1
        return WireError(.rateLimited, "the peer's connection does not keep up")
    }
}
