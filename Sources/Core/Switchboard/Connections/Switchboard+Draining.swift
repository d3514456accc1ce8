import CallCore
package import CallPorts
import CallWire

/// Shutting down: every connection is closed, and its device is told when to reconnect.
///
/// Devices reconnect as ``ReconnectSchedule`` says. Devices in a call reconnect first, because their peers wait.
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
            let seconds = Int.random(in: 1...reconnects.seconds, using: &ports.random)
            turn.out.append(
                .reply(id, Reply(WireError(.draining, "the server is shutting down"), retryAfterSeconds: seconds))
            )
        }
        polls.removeAll()
        for id in appEvents.feedWaits.ids { feedTimedOut(id) }
        if queries.decisions.isAnyOpen { schedule(.decisions, at: turn.now) }
    }

    private var reconnects: ReconnectSchedule { ReconnectSchedule(of: connections.drained, grace: policy.grace) }

    private mutating func release(_ connection: Connection, returningAs place: Int) {
        let delay = reconnects.delay(of: place, using: &ports.random)
        // A Socket.IO client does not know this frame: its library chooses a random pause itself.
        if !connection.isStateless {
            turn.out.append(.send(connection.id, ServerFrame.draining(reconnectAfterMs: delay)))
        }
        close(connection.id, code: 1001, ReconnectSchedule.reason(delay))
    }

    /// Closes a connection that was opened after draining had begun.
    mutating func reject(_ id: SocketID, isStateless: Bool) {
        let delay = reconnects.delayOfLatecomer(using: &ports.random)
        if !isStateless { turn.out.append(.send(id, ServerFrame.draining(reconnectAfterMs: delay))) }
        turn.out.append(.close(id, code: 1001, reason: ReconnectSchedule.reason(delay), isLost: false))
    }

    /// Returns the connections whose devices understand `draining`, and whether the user of each is in a call.
    ///
    /// A node that has released the calls closes its own connections itself.
    package func connectionsToDrain() -> [(id: SocketID, isInCall: Bool)] {
        connections.all.compactMap { $0.isStateless ? nil : ($0.id, !calls.live(of: $0.user).isEmpty) }
    }
}
