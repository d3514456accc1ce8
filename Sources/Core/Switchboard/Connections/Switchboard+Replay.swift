import CallCore
import CallPorts
import CallWire
import DequeModule

/// Something that a connection is sent once it has confirmed the bytes written before.
enum Replay {
    /// The rest of a call's log, from this index on.
    ///
    /// `isOpening`: Whether the log is replayed because the device connected, not because it asked by `sync`.
    case log(CallNumber, Side, from: Int, isOpening: Bool)
    /// A frame that follows the requested logs: the ack of a `sync`.
    case frame([UInt8])
    /// The rest of a watched call's timeline, from this index on.
    case timeline(WatchedCall, [TimelineRecord], from: Int)

    /// The call whose log is replayed; `nil` for frames and timelines.
    var call: CallNumber? { if case .log(let number, _, _, _) = self { number } else { nil } }
}

/// Replay: a cursor over logs that moves on as the connection confirms what it was sent.
///
/// If the logs of several calls were sent at once, they could exceed the limit of a connection's queue, and the device
/// would lose each new connection. Entries that are appended during the replay are sent by the replay too, so that the
/// receiver sees `seq` grow.
extension Switchboard {
    /// Replays the entries of every live call that concern a device to its connection, and notifies the device of the
    /// calls that ended while it had no connection.
    ///
    /// A client without a cursor gets the whole log of a ringing call, because its app may have been restarted. Of
    /// an answered call it gets only the entries that have not reached it.
    ///
    /// `seen`: For a client without a cursor, the newest `seq` of each log that has reached the device; otherwise
    /// `nil`.
    /// `written`: For an adopted connection, the newest `seq` of each log that was written to it.
    mutating func replayEverything(
        to connection: Connection,
        seen: [LogIdentity: UInt64]?,
        written: [CallNumber: UInt64] = [:]
    ) {
        let live = calls.live(of: connection.user)
        // An answered call comes before those that only ring.
        for call in live.filter({ $0.session.answeredAt != nil }) + live.filter({ $0.session.answeredAt == nil }) {
            guard let side = call.side(of: connection.user) else { continue }
            process(call, .seen(connection.device, side))
            if side == .callee { process(call, .notified(connection.device)) }
            let place = call.session.answeredAt == nil ? nil : seen?[call.logIdentity]
            if let place { reportOngoing(call, to: connection, side, seen: place) }
            let start = place ?? written[call.number] ?? 0
            enqueue(call, side, after: start, isOpening: true, for: connection)
        }
        continueReplays(to: connection)
        sendEndNotices(to: connection)
    }

    /// Tells a client without a cursor that a call is still live, if the client already has every entry that shows
    /// this.
    ///
    /// Such a client forgets its calls when its connection closes. Without this frame it would take the end of another
    /// call with the same user for the end of all its calls with that user.
    private mutating func reportOngoing(_ call: Call, to connection: Connection, _ side: Side, seen place: UInt64) {
        let newest = call.session.log.lastIndex { entry in
            guard case .state = entry.content else { return false }
            return call.session.sees(entry, side: side, device: connection.device)
        }
        guard let newest, call.session.log[newest].seq <= place,
            case .state(let change) = call.session.log[newest].content, change.state != .ended
        else { return }
        sendFrame(call.frame(at: newest), at: place, of: call, to: connection)
    }

    /// Notifies a device of the calls that ended without its knowledge.
    ///
    /// The device is pinged at once, because its pong confirms the notices: a client that connects only for its calls would
    /// not stay until its next ping, and would be notified of the same calls each time.
    ///
    /// Calls at rest are loaded in batches, those that ended last first, because the server cannot know without loading
    /// them whether this device knows of their ends. The next batch is loaded with the next pong.
    ///
    /// `loads`: Whether a batch is loaded now.
    /// `hasFailed`: Whether the store could not read the last batch, so that the next one waits for a pong that comes
    /// anyway.
    mutating func sendEndNotices(to connection: Connection, loads: Bool = true, hasFailed: Bool = false) {
        var unread: [CallNumber] = []
        let before = connection.unconfirmedEnds.count
        for number in calls.endNotices[connection.user] {
            guard let call = calls[number] else {
                if !connection.endsRead.contains(number), calls.resting[number] != nil { unread.append(number) }
                continue
            }
            sendEndNotice(of: call, to: connection)
        }
        // The next pong asks for the next batch, even if this batch had nothing to tell.
        if connection.unconfirmedEnds.count > before || !loads && !hasFailed && !unread.isEmpty { ping(connection) }
        connection.hasUnreadEnds = unread.count > (loads ? SwitchboardLimits.endsLoaded : 0)
        guard loads, !unread.isEmpty else { return }
        let batch = Array(unread.suffix(SwitchboardLimits.endsLoaded))
        if connection.hasUnreadEnds { connection.endsRead.formUnion(batch) }
        park(.endNotices(connection.id), until: batch.map(Awaited.call))
    }

    /// Loads the next calls at rest of whose ends a device may have to be notified.
    mutating func readMoreEnds(for connection: Connection) {
        guard connection.hasUnreadEnds else { return }
        sendEndNotices(to: connection)
    }

    /// Notifies a device that a call has ended, if the device has not been notified yet.
    ///
    /// Does nothing while entries of the call are withheld; their release calls this function again.
    mutating func sendEndNotice(of call: Call, to connection: Connection) {
        guard let side = call.side(of: connection.user), !hasWithheldEntries(call),
            call.session.hasUndeliveredEnd(to: connection.device, side: side),
            !connection.unconfirmedEnds.contains(where: { $0.call == call.number })
        else { return }
        tellEnd(of: call, to: connection, side)
        connection.awaitEndConfirmation(of: call, side)
    }

    mutating func sync(_ cursors: [CallID: ClientMessage.Cursor], _ connection: Connection, id: SignalID?) {
        var awaited: Set<Awaited> = []
        for callID in cursors.keys {
            let found = calls.find(callID, for: connection.user)
            awaited.formUnion(self.awaited(callID, for: connection.user, with: nil, besides: found))
        }
        guard awaited.isEmpty else {
            beginPendingFrame(connection)
            park(.sync(cursors, id: id, connection.id), until: awaited.sorted())
            return
        }
        for callID in cursors.keys.sorted() {
            guard let cursor = cursors[callID],
                let call = calls.find(callID, for: connection.user, on: connection.device),
                let side = call.side(of: connection.user)
            else { continue }
            // A cursor in the log of another epoch is meaningless in this log.
            let isCurrent = cursor.epoch == nil || cursor.epoch == call.epoch
            enqueue(call, side, after: isCurrent ? cursor.seq : 0, isOpening: false, for: connection)
        }
        if let id {
            guard connection.replays.count < SwitchboardLimits.replays else {
                tell(exceeded(.syncs, "calls: an earlier sync is still running"), id: id, to: connection)
                return
            }
            connection.replays.append(.frame(ServerFrame.ack(id: id)))
        }
        continueReplays(to: connection)
        updateBond(of: connection)
    }

    /// Appends a call's log to the replays of a connection.
    private func enqueue(_ call: Call, _ side: Side, after seq: UInt64, isOpening: Bool, for connection: Connection) {
        let place = call.session.log.firstIndex { $0.seq > seq } ?? call.session.log.count
        var isOpening = isOpening
        if let index = connection.replays.firstIndex(where: { $0.call == call.number }) {
            if case .log(_, _, _, true) = connection.replays[index] { isOpening = true }
            connection.replays.remove(at: index)
        }
        connection.replays.append(.log(call.number, side, from: place, isOpening: isOpening))
    }

    /// Sends the next slice of a connection's replays.
    mutating func continueReplays(to connection: Connection) {
        guard !connection.replays.isEmpty else { return }
        while connection.backlog.bytes < policy.replaySlice, let next = connection.replays.first {
            switch next {
            case .frame(let frame):
                connection.replays.removeFirst()
                sendFrame(frame, to: connection)
                if connection.isBound { updateBond(of: connection) }
            case .timeline(let call, let events, let place):
                guard place < events.count else {
                    connection.replays.removeFirst()
                    continue
                }
                connection.replays[0] = .timeline(call, events, from: place + 1)
                metrics.timelineFrames += 1
                sendFrame(TimelineView.frame(events[place], of: call), to: connection)
            case .log(let number, let side, let place, let isOpening):
                guard let call = calls[number] else {
                    connection.replays.removeFirst()
                    continue
                }
                // A call that has ended meanwhile need not ring.
                let isOver = isOpening && !call.isLive
                if !isOver, let index = nextShown(of: call, to: connection, side, from: place) {
                    connection.replays[0] = .log(number, side, from: index + 1, isOpening: isOpening)
                    metrics.delivered += 1
                    trace(call, .replayed(connection.id, seq: call.session.log[index].seq))
                    sendFrame(call.frame(at: index), at: call.session.log[index].seq, of: call, to: connection)
                    continue
                }
                connection.replays.removeFirst()
                if isOver, !hasWithheldEntries(call) { tellEnd(of: call, to: connection, side) }
                replayed(call, to: connection, side, isOpening: isOpening)
            }
        }
        guard !connection.replays.isEmpty else { return }
        // A caller must know soon whether the callee's connection is alive.
        if connection.probedAt == nil, !calls.ringing(connection.user).isEmpty {
            sendProbe(connection)
        } else if !connection.backlog.awaitsPong {
            ping(connection)
        }
    }

    /// Handles the end of a log's replay: the device has been sent every entry that concerns it.
    private mutating func replayed(_ call: Call, to connection: Connection, _ side: Side, isOpening: Bool) {
        // A connection that has not been sent the offer, because the offer is withheld, is probed when the call rings.
        if isOpening, side == .callee, !call.ringsWhenShown, case .ringing = call.session.phase {
            note(call, .delivered(connection.device.id))
            probe(connection, for: call)
        }
        if !hasWithheldEntries(call), call.session.hasUndeliveredEnd(to: connection.device, side: side) {
            connection.awaitEndConfirmation(of: call, side)
        }
    }

    /// Returns the index of the next entry of a call that is shown to a device.
    private func nextShown(of call: Call, to connection: Connection, _ side: Side, from place: Int) -> Int? {
        let shown = shownCount(of: call)
        return call.session.log[min(place, shown)..<shown].firstIndex { entry in
            call.session.sees(entry, side: side, device: connection.device)
                && !(connection.isStateless && isAnswered(entry, in: call, by: side))
        }
    }

    /// Whether an entry is an offer that a side has answered, by any device or transport.
    ///
    /// Sent again, such an offer would ring again.
    private func isAnswered(_ entry: LogEntry, in call: Call, by side: Side) -> Bool {
        guard case .signal(.offer, side.other, _, _, _) = entry.content else { return false }
        return call.session.log.contains { later in
            guard case .signal(.answer, side, _, _, _) = later.content else { return false }
            return later.seq > entry.seq
        }
    }

    /// Sends the entry that tells a device that it is out of the call.
    private mutating func tellEnd(of call: Call, to connection: Connection, _ side: Side) {
        for (index, entry) in call.session.log.enumerated().reversed() {
            guard case .state(let change) = entry.content, change.state == .ended,
                call.session.sees(entry, side: side, device: connection.device)
            else { continue }
            sendFrame(call.frame(at: index), at: entry.seq, of: call, to: connection)
            return
        }
    }

    /// Handles the confirmation that something written to a connection has arrived.
    mutating func backlogShrank(_ connection: Connection) {
        connection.probedAt = nil
        if connection.isBacklogged, connection.backlog.bytes <= policy.backlogBytes { clearBacklogged(connection) }
        if connection.backlog.bytes > SwitchboardLimits.confirmedEvery { backlogGrew(connection) }
        continueReplays(to: connection)
    }
}
