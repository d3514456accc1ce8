import CallCore
import CallPorts
import CallWire
import DequeModule

/// `watch`: a service is sent the timeline events of calls while they happen; of the calls under one callId also the
/// newest one's events so far.
extension Switchboard {
    mutating func watchTimelines(of callID: CallID?, _ user: UserID?, _ connection: Connection, id: SignalID?) {
        guard connection.principal.isService else {
            tell(Self.watchForbidden, id: id, callID: callID, to: connection)
            return
        }
        endWatch(of: connection)
        connection.watchesBegun += 1
        let number = connection.watchesBegun
        let watch = TimelineWatch(number: number, callID: callID, user: user, held: callID == nil ? nil : [])
        connections.beginWatch(watch, by: connection)
        metrics.timelineWatchers = connections.timelineWatchers.count
        updateBond(of: connection)
        guard let callID else {
            acknowledgeWatch(id, to: connection)
            return
        }
        beginPendingFrame(connection)
        submit(
            .timeline(CallSelector(callID, of: [user].compactMap(\.self))),
            for: .watch(PendingWatch(connection: connection.id, number: number, id: id))
        )
    }

    /// Ends the watch of a connection, and drops the events that were still to be sent.
    mutating func endWatch(of connection: Connection) {
        guard connection.watch != nil else { return }
        connections.endWatch(by: connection)
        connection.replays.removeAll { if case .timeline = $0 { true } else { false } }
        metrics.timelineWatchers = connections.timelineWatchers.count
        updateBond(of: connection)
    }

    /// Sends the events of a call that the store has read, and then those that have happened since; `record` is `nil` if
    /// there is no such call.
    mutating func replayTimeline(_ record: CallRecord?, _ events: [TimelineRecord], for pending: PendingWatch) {
        guard let connection = connections[pending.connection] else { return }
        defer { endPendingFrame(connection) }
        guard connection.watch?.number == pending.number, let held = connection.watch?.held else {
            if connection.watchesBegun > pending.number {
                acknowledgeWatch(pending.id, to: connection)
            } else if connection.principal.isService {
                let error = WireError(.rateLimited, "callId: too many events at once, watch again")
                tell(error, id: pending.id, to: connection)
            } else {
                tell(Self.watchForbidden, id: pending.id, to: connection)
            }
            return
        }
        connection.watch?.held = nil
        acknowledgeWatch(pending.id, to: connection)
        if let record {
            // The signals are in the call's log, or in the timeline if the log was forgotten.
            let since = held.filter { $0.call.number == record.number && $0.origin != .log }.map(\.record)
            let all = withSignals(TimelineWatch.join(events, since), of: record)
            connection.replays.append(.timeline(WatchedCall(record), all, from: 0))
        }
        for event in held where event.call.number != record?.number && event.origin != .forgottenLog {
            connection.replays.append(.timeline(event.call, [event.record], from: 0))
        }
        continueReplays(to: connection)
    }

    /// Refuses a watch because the store cannot read the call's timeline.
    mutating func watchFailed(_ pending: PendingWatch) {
        guard let connection = connections[pending.connection] else { return }
        tell(Self.storeUnavailableError, id: pending.id, callID: connection.watch?.callID, to: connection)
        if connection.watch?.number == pending.number { endWatch(of: connection) }
        endPendingFrame(connection)
    }

    private static let watchForbidden = WireError(
        .forbidden,
        "type: only a service token may watch calls",
        field: Field.type.name
    )

    private mutating func acknowledgeWatch(_ id: SignalID?, to connection: Connection) {
        if let id { turn.out.append(.send(connection.id, ServerFrame.ack(id: id))) }
    }
}
