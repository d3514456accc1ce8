import CallCore
import CallPorts
import CallWire
import DequeModule

/// Sends timeline events to the connections that watch, while the events happen.
extension Switchboard {
    /// Sends an event of a call to the connections that watch the call.
    ///
    /// Called only if there are such connections, because nearly always there are none.
    mutating func report(_ record: TimelineRecord, of call: Call, from origin: TimelineWatch.EventOrigin) {
        let watched = WatchedCall(
            number: call.number,
            id: call.key.id,
            epoch: call.epoch,
            caller: call.caller,
            callee: call.callee,
            startedAt: call.session.startedAt
        )
        var frame: [UInt8]?
        for connection in connections.timelineWatchers {
            guard let watch = connection.watch, watch.concerns(call.identity) else { continue }
            if let held = watch.held {
                hold(TimelineWatch.HeldEvent(call: watched, record: record, origin: origin), held, connection)
            } else if origin == .forgottenLog {
                // The signals of a log were sent when they came.
                continue
            } else if connection.replays.isEmpty {
                let made = frame ?? TimelineView.frame(record, of: watched)
                frame = made
                write(made, toWatching: connection)
            } else {
                connection.replays.append(.timeline(watched, [record], from: 0))
                if connection.replays.count > SwitchboardLimits.replays { sendWaitingEvents(to: connection) }
            }
        }
    }

    /// Holds an event back until the replay; if too many are held, the watch ends, and is refused after the query.
    private mutating func hold(
        _ event: TimelineWatch.HeldEvent,
        _ held: [TimelineWatch.HeldEvent],
        _ connection: Connection
    ) {
        guard held.count < SwitchboardLimits.heldEvents else {
            connections.endWatch(by: connection)
            metrics.timelineWatchers = connections.timelineWatchers.count
            metrics.limited[.watch] += 1
            return
        }
        connection.watch?.held?.append(event)
    }

    /// Sends all events that wait for the client to confirm earlier ones.
    ///
    /// A client that reads so slowly is closed with 4408 once its queue exceeds its limit, like any other.
    private mutating func sendWaitingEvents(to connection: Connection) {
        for case .timeline(let call, let events, let place) in connection.replays {
            for event in events[place...] {
                write(TimelineView.frame(event, of: call), toWatching: connection)
            }
        }
        connection.replays.removeAll { if case .timeline = $0 { true } else { false } }
    }

    /// Writes an event to a connection, and counts it towards the connection's backlog.
    private mutating func write(_ frame: [UInt8], toWatching connection: Connection) {
        metrics.timelineFrames += 1
        turn.out.append(.send(connection.id, frame))
        if connection.backlog.write(frame.count) > SwitchboardLimits.confirmedEvery { backlogGrew(connection) }
    }
}
