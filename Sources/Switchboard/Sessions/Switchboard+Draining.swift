import CallCore
import CallWire

/// Shutting down: every connection is closed, and told when to come back.
///
/// Connections come back in random order, each in a time slot of its own: random times alone would cluster. Devices in
/// a call come back first, because their peers wait.
extension Switchboard {
    /// The number of connections that the next server is expected to accept in a second: what one core does with TLS.
    static let reconnectsPerSecond: Int64 = 500
    /// The shortest time that connections are spread over, however few there are: there may be other servers.
    static let shortestReturn = Moment.Span.seconds(1)
    /// The longest such time: until a device without a call is back, only pushes reach it.
    static let longestReturn = Moment.Span.seconds(10)
    /// The delay before which no connection is to come back: the next server opens its store first.
    static let firstReturn = Moment.Span.milliseconds(500)

    mutating func drain() {
        guard !isDraining else { return }
        isDraining = true
        let all = sessions.values.sorted { $0.id.rawValue < $1.id.rawValue }
        drained = all.count
        var talking = all.filter { !calls.live(of: $0.user).isEmpty }
        var idle = all.filter { calls.live(of: $0.user).isEmpty }
        talking.shuffle(using: &random)
        idle.shuffle(using: &random)
        for (place, session) in (talking + idle).enumerated() { letGo(session, returningAs: place) }
        for id in polls.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            let seconds = Int.random(in: 1...max(1, Int(returnSpan.milliseconds / 1_000)), using: &random)
            out.append(
                .reply(id, Reply(WireError(.draining, "the server is shutting down"), retryAfterSeconds: seconds))
            )
        }
        polls.removeAll()
    }

    /// The time over which the connections come back: never so long that a call would end because of it.
    private var returnSpan: Moment.Span {
        let wanted = Moment.Span.milliseconds(Int64(drained) * 1_000 / Self.reconnectsPerSecond)
        let span = min(max(Self.shortestReturn, wanted), Self.longestReturn)
        return min(span, .milliseconds(max(1, policy.grace.milliseconds / 3)))
    }

    private mutating func letGo(_ session: Session, returningAs place: Int) {
        let piece = Double(returnSpan.milliseconds) / Double(max(1, drained))
        let at = (Double(place) + Double.random(in: 0..<1, using: &random)) * piece
        let delay = Self.firstReturn.milliseconds + Int64(at)
        // A Socket.IO client knows no such event: its library chooses a random pause itself.
        if !session.keepsNoPlace { out.append(.send(session.id, ServerFrame.draining(reconnectAfterMs: delay))) }
        close(session.id, code: 1001, Self.farewell(delay))
    }

    /// Turns away a connection that was opened while the others are being closed.
    mutating func turnAway(_ id: SessionID, keepsNoPlace: Bool) {
        let delay =
            Self.firstReturn.milliseconds + Int64.random(in: 0..<max(1, returnSpan.milliseconds), using: &random)
        if !keepsNoPlace { out.append(.send(id, ServerFrame.draining(reconnectAfterMs: delay))) }
        out.append(.close(id, code: 1001, reason: Self.farewell(delay), isLost: false))
    }

    /// Returns the close reason, which repeats the delay for a client that sees only the close.
    private static func farewell(_ delay: Int64) -> String {
        "the server is shutting down; reconnectAfterMs=\(delay)"
    }
}
