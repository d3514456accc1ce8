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

    /// The call that owns the log.
    var call: CallNumber? { if case .log(let number, _, _, _) = self { number } else { nil } }
}

/// Replay: a cursor over logs that moves on as the connection confirms what it was sent.
///
/// If the logs of several calls were sent at once, they would exceed the limit of a connection's queue, and the device
/// would lose each new connection. The cursor also reaches entries that are appended during the replay, so that the
/// receiver sees `seq` grow.
extension Switchboard {
    /// Replays to a device the entries of every live call that concern it, and notifies it of the calls that ended
    /// while it was away.
    ///
    /// A client that keeps no cursor gets the whole log of a ringing call, because its app may have been started anew.
    /// Of an answered call it gets only the entries that have not reached it.
    mutating func replayEverything(to session: Session, seen: [LogName: UInt64]?, at now: Moment) {
        let live = calls.live(of: session.user)
        // An answered call comes before those that only ring.
        for call in live.filter({ $0.session.answeredAt != nil }) + live.filter({ $0.session.answeredAt == nil }) {
            guard let side = call.session.side(of: session.user) else { continue }
            drive(call, .seen(session.phone, side), at: now)
            if side == .callee { drive(call, .notified(session.phone), at: now) }
            let place = call.session.answeredAt == nil ? nil : seen?[call.logName]
            if let place { tellThatItGoesOn(call, to: session, side, seen: place, at: now) }
            enqueue(call, side, after: place ?? 0, isOpening: true, for: session)
        }
        continueReplays(to: session, at: now)
        tellNews(to: session, at: now)
    }

    /// Tells a client that keeps no cursor that a call is still live, if the client already has every entry that shows
    /// this.
    ///
    /// Such a client forgets its calls when its connection closes. Without this frame it would take the end of another
    /// call with the same user for the end of all of them.
    private mutating func tellThatItGoesOn(
        _ call: Call,
        to session: Session,
        _ side: Side,
        seen place: UInt64,
        at now: Moment
    ) {
        let newest = call.session.log.lastIndex { entry in
            guard case .state = entry.content else { return false }
            return call.session.sees(entry, side: side, phone: session.phone)
        }
        guard let newest, call.session.log[newest].seq <= place,
            case .state(let change) = call.session.log[newest].content, change.state != .ended
        else { return }
        send(call.frames[newest], to: session, at: now)
    }

    /// Notifies a device of the calls that ended without its knowledge.
    ///
    /// `takesUp`: Whether calls at rest are loaded for it; otherwise the connection's next check-up loads them.
    mutating func tellNews(to session: Session, takesUp: Bool = true, at now: Moment) {
        var asleep: [CallNumber] = []
        for number in calls.endNotices[session.user] {
            guard let call = calls[number] else {
                if calls.resting[number] != nil { asleep.append(number) }
                continue
            }
            guard let side = call.session.side(of: session.user),
                call.session.owesNews(to: session.phone, side: side),
                !session.news.contains(where: { $0.call == number })
            else { continue }
            tellEnd(of: call, to: session, side, at: now)
            session.awaitNews(of: call, side)
        }
        guard !asleep.isEmpty else { return }
        if takesUp { park(.news(session.id), until: asleep, at: now) } else { session.hasUnreadNews = true }
    }

    mutating func sync(_ cursors: [CallID: ClientMessage.Cursor], _ session: Session, id: SignalID?, at now: Moment) {
        var asleep: Set<CallNumber> = []
        for callID in cursors.keys {
            let found = calls.find(callID, for: session.user)
            asleep.formUnion(self.asleep(callID, for: session.user, with: nil, unless: found))
        }
        guard asleep.isEmpty else {
            park(.sync(cursors, id: id, session.id), until: asleep.sorted(), at: now)
            return
        }
        for callID in cursors.keys.sorted() {
            guard let cursor = cursors[callID], let call = calls.find(callID, for: session.user, on: session.phone),
                let side = call.session.side(of: session.user)
            else { continue }
            // A cursor in another epoch's log is meaningless in this one.
            let isCurrent = cursor.epoch == nil || cursor.epoch == call.session.epoch
            enqueue(call, side, after: isCurrent ? cursor.seq : 0, isOpening: false, for: session)
        }
        if let id {
            guard session.replays.count < SwitchboardLimits.replays else {
                tell(WireError(.rateLimited, "calls: an earlier sync is still running"), id: id, to: session)
                return
            }
            session.replays.append(.frame(ServerFrame.ack(id: id)))
        }
        continueReplays(to: session, at: now)
    }

    /// Appends a call's log to the replays of a connection.
    private func enqueue(_ call: Call, _ side: Side, after seq: UInt64, isOpening: Bool, for session: Session) {
        let place = call.session.log.firstIndex { $0.seq > seq } ?? call.session.log.count
        var isOpening = isOpening
        if let index = session.replays.firstIndex(where: { $0.call == call.number }) {
            if case .log(_, _, _, true) = session.replays[index] { isOpening = true }
            session.replays.remove(at: index)
        }
        session.replays.append(.log(call.number, side, from: place, isOpening: isOpening))
    }

    /// Sends the next slice of a connection's replays.
    mutating func continueReplays(to session: Session, at now: Moment) {
        guard !session.replays.isEmpty else { return }
        while session.backlog.bytes < policy.replaySlice, let next = session.replays.first {
            switch next {
            case .frame(let frame):
                session.replays.removeFirst()
                send(frame, to: session, at: now)
            case .log(let number, let side, let place, let isOpening):
                guard let call = calls[number] else {
                    session.replays.removeFirst()
                    continue
                }
                // A call that has ended meanwhile need not ring.
                let isOver = isOpening && !call.session.isLive
                if !isOver, let index = nextShown(of: call, to: session, side, from: place) {
                    session.replays[0] = .log(number, side, from: index + 1, isOpening: isOpening)
                    metrics.delivered += 1
                    trace(call, .replayed(session.id, seq: call.session.log[index].seq))
                    send(call.frames[index], to: session, at: now)
                    continue
                }
                session.replays.removeFirst()
                if isOver { tellEnd(of: call, to: session, side, at: now) }
                replayed(call, to: session, side, isOpening: isOpening, at: now)
            }
        }
        guard !session.replays.isEmpty else { return }
        // A caller must know soon whether the callee is there.
        if session.probedAt == nil, !calls.ringing(session.user).isEmpty {
            askForLife(session, at: now)
        } else if !session.backlog.awaitsPong {
            ping(session, at: now)
        }
    }

    /// Handles the end of a log's replay: the device has been sent every entry that concerns it.
    private mutating func replayed(_ call: Call, to session: Session, _ side: Side, isOpening: Bool, at now: Moment) {
        if isOpening, side == .callee, case .ringing = call.session.phase {
            note(call, .delivered(session.phone.id), at: now)
            probe(session, for: call, at: now)
        }
        if call.session.owesNews(to: session.phone, side: side) { session.awaitNews(of: call, side) }
    }

    /// Returns the index of the next entry of a call that is shown to a device.
    private func nextShown(of call: Call, to session: Session, _ side: Side, from place: Int) -> Int? {
        call.session.log[min(place, call.session.log.count)...].firstIndex { entry in
            call.session.sees(entry, side: side, phone: session.phone)
                && !(session.keepsNoPlace && isAnswered(entry, in: call, by: side))
        }
    }

    /// Whether an entry is an offer that a side has answered, by any device or way: if it were sent again, it would
    /// ring again.
    private func isAnswered(_ entry: LogEntry, in call: Call, by side: Side) -> Bool {
        guard case .signal(.offer, side.other, _, _, _) = entry.content else { return false }
        return call.session.log.contains { later in
            guard case .signal(.answer, side, _, _, _) = later.content else { return false }
            return later.seq > entry.seq
        }
    }

    /// Sends the entry that tells a device that it is out of the call.
    private mutating func tellEnd(of call: Call, to session: Session, _ side: Side, at now: Moment) {
        for (index, entry) in call.session.log.enumerated().reversed() {
            guard case .state(let change) = entry.content, change.state == .ended,
                call.session.sees(entry, side: side, phone: session.phone)
            else { continue }
            send(call.frames[index], to: session, at: now)
            return
        }
    }

    /// Handles the confirmation that something written to a connection has arrived.
    mutating func shrank(_ session: Session, at now: Moment) {
        session.probedAt = nil
        if session.isBacklogged, session.backlog.bytes <= policy.backlogBytes { isNotBacklogged(session) }
        if session.backlog.bytes > SwitchboardLimits.confirmedEvery { growsLong(session, at: now) }
        continueReplays(to: session, at: now)
    }
}
