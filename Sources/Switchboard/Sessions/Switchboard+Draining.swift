import CallCore
import CallWire

/// Shutting down: every connection is closed, and its device is told when to reconnect.
///
/// Devices reconnect in random order, each in a separate time slot: purely random times would cluster. Devices in a
/// call reconnect first, because their peers wait.
extension Switchboard {
    mutating func drain() {
        guard !connections.isDraining else { return }
        connections.drain()
        let all = connections.all
        var talking = all.filter { !calls.live(of: $0.user).isEmpty }
        var idle = all.filter { calls.live(of: $0.user).isEmpty }
        talking.shuffle(using: &ports.random)
        idle.shuffle(using: &ports.random)
        for (place, session) in (talking + idle).enumerated() { letGo(session, returningAs: place) }
        for id in polls.ids {
            let seconds = Int.random(in: 1...max(1, Int(returnSpan.milliseconds / 1_000)), using: &ports.random)
            turn.out.append(
                .reply(id, Reply(WireError(.draining, "the server is shutting down"), retryAfterSeconds: seconds))
            )
        }
        polls.removeAll()
    }

    /// The time over which the devices reconnect: never so long that a call would end because of it.
    private var returnSpan: Moment.Span {
        let wanted = Moment.Span.milliseconds(
            Int64(connections.drained) * 1_000 / SwitchboardLimits.reconnectsPerSecond
        )
        let span = min(max(SwitchboardLimits.shortestReturn, wanted), SwitchboardLimits.longestReturn)
        return min(span, .milliseconds(max(1, policy.grace.milliseconds / 3)))
    }

    private mutating func letGo(_ session: Session, returningAs place: Int) {
        let piece = Double(returnSpan.milliseconds) / Double(max(1, connections.drained))
        let at = (Double(place) + Double.random(in: 0..<1, using: &ports.random)) * piece
        let delay = SwitchboardLimits.firstReturn.milliseconds + Int64(at)
        // A Socket.IO client knows no such event: its library chooses a random pause itself.
        if !session.keepsNoPlace { turn.out.append(.send(session.id, ServerFrame.draining(reconnectAfterMs: delay))) }
        close(session.id, code: 1001, Self.farewell(delay))
    }

    /// Turns away a connection that was opened while the others are being closed.
    mutating func turnAway(_ id: SessionID, keepsNoPlace: Bool) {
        let delay =
            SwitchboardLimits.firstReturn.milliseconds
            + Int64.random(in: 0..<max(1, returnSpan.milliseconds), using: &ports.random)
        if !keepsNoPlace { turn.out.append(.send(id, ServerFrame.draining(reconnectAfterMs: delay))) }
        turn.out.append(.close(id, code: 1001, reason: Self.farewell(delay), isLost: false))
    }

    /// Returns the close reason, which repeats the delay for a client that sees only the close.
    private static func farewell(_ delay: Int64) -> String {
        "the server is shutting down; reconnectAfterMs=\(delay)"
    }
}
