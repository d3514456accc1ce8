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
        for (place, connection) in (talking + idle).enumerated() { release(connection, returningAs: place) }
        for id in polls.ids {
            let seconds = Int.random(in: 1...max(1, Int(reconnectSpread.milliseconds / 1_000)), using: &ports.random)
            turn.out.append(
                .reply(id, Reply(WireError(.draining, "the server is shutting down"), retryAfterSeconds: seconds))
            )
        }
        polls.removeAll()
    }

    /// The time over which the devices reconnect: never so long that a call would end because of it.
    private var reconnectSpread: Moment.Duration {
        let wanted = Moment.Duration.milliseconds(
            Int64(connections.drained) * 1_000 / SwitchboardLimits.reconnectsPerSecond
        )
        let duration = min(
            max(SwitchboardLimits.shortestReconnectSpread, wanted),
            SwitchboardLimits.longestReconnectSpread
        )
        return min(duration, .milliseconds(max(1, policy.grace.milliseconds / 3)))
    }

    private mutating func release(_ connection: Connection, returningAs place: Int) {
        let piece = Double(reconnectSpread.milliseconds) / Double(max(1, connections.drained))
        let at = (Double(place) + Double.random(in: 0..<1, using: &ports.random)) * piece
        let delay = SwitchboardLimits.firstReconnectDelay.milliseconds + Int64(at)
        // A Socket.IO client does not know this frame: its library chooses a random pause itself.
        if !connection.isStateless {
            turn.out.append(.send(connection.id, ServerFrame.draining(reconnectAfterMs: delay)))
        }
        close(connection.id, code: 1001, Self.drainingReason(delay))
    }

    /// Closes a connection that was opened after draining had begun.
    mutating func reject(_ id: ConnectionID, isStateless: Bool) {
        let delay =
            SwitchboardLimits.firstReconnectDelay.milliseconds
            + Int64.random(in: 0..<max(1, reconnectSpread.milliseconds), using: &ports.random)
        if !isStateless { turn.out.append(.send(id, ServerFrame.draining(reconnectAfterMs: delay))) }
        turn.out.append(.close(id, code: 1001, reason: Self.drainingReason(delay), isLost: false))
    }

    /// Returns the close reason, which repeats the delay for a client that sees only the close.
    private static func drainingReason(_ delay: Int64) -> String {
        "the server is shutting down; reconnectAfterMs=\(delay)"
    }
}
