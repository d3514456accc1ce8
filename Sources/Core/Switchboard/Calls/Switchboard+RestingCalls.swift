import CallCore
import CallPorts
import CallWire

/// Calls at rest: an ended call is removed from memory, and loaded again when a client asks for it.
///
/// The signal or request that asks is put aside until the store has read the call, and is then handled as if the call
/// had been in memory all the time. So there is only one code path for ended calls (Decision 0012).
extension Switchboard {
    // MARK: Putting calls to rest

    /// Puts an ended call to rest once it has been in memory long enough; returns whether it did.
    ///
    /// A call stays in memory while a long poll of the call waits, a push for the call is under way, or a connection is
    /// still being sent the call's log or has not confirmed its end.
    mutating func putToRest(_ call: Call, endedAt: Moment) -> Bool {
        guard turn.now >= max(endedAt, call.loadedAt ?? endedAt) + SwitchboardLimits.restsAfter else { return false }
        guard call.polls.isEmpty, call.openPushes == 0, !hasWithheldEntries(call), !isBeingSent(call) else {
            call.loadedAt = turn.now + SwitchboardLimits.restRetriedAfter - SwitchboardLimits.restsAfter
            return false
        }
        let expiresAt = endedAt + policy.fetchableFor
        trace(call, .putToRest)
        forgetDeliveredEnds(of: call)
        calls.rest(call, expiresAt: expiresAt)
        schedule(.call(call.number), at: expiresAt)
        return true
    }

    /// Removes a call from the end notices of each user whose devices have all been notified.
    ///
    /// If the call stayed there, each new connection of the user would cause a read of the call from the store.
    private mutating func forgetDeliveredEnds(of call: Call) {
        for side in Side.allCases
        where !call.session.legs.contains(where: { $0.side == side && $0.phase == .endNotDelivered }) {
            calls.endNotices.remove(call.number, for: call.user(on: side))
        }
    }

    /// Whether a connection is still being sent the call's log, or has not yet confirmed the notification of its end.
    private func isBeingSent(_ call: Call) -> Bool {
        for user in [call.caller, call.callee] {
            for connection in connections.of(user)
            where connection.replays(call.number)
                || connection.unconfirmedEnds.contains(where: { $0.call == call.number })
            {
                return true
            }
        }
        return false
    }

    /// Puts the calls to rest that have ended before this start.
    ///
    /// After a stop of ten minutes, all of them are overdue. They are forgotten one after another over the next ten
    /// minutes, because each is read once more for that.
    mutating func restAtStart(_ ended: [EndedCall]) {
        let now = turn.now
        let overdue = ended.count { $0.endedAt + policy.fetchableFor <= now }
        let whole = policy.fetchableFor.milliseconds
        let pause = min(SwitchboardLimits.overdueEvery, whole / Int64(max(1, overdue)))
        var left = Int64(overdue)
        calls.restAtStart(ended) { index in
            // The clock may have been set back since the call ended.
            let at = min(ended[index].endedAt, now) + policy.fetchableFor
            guard at <= now else { return at }
            left -= 1
            return now + Moment.Duration(milliseconds: left * pause)
        }
        for end in ended {
            guard let atRest = calls.resting[end.identity.number] else { continue }
            schedule(.call(end.identity.number), at: atRest.expiresAt)
        }
    }

    // MARK: Waiting for the store

    /// Returns what must be read before it is known which call a user means by a callId: calls at rest, and the epoch of
    /// a call that an earlier offer is about to begin.
    ///
    /// `found`: The call that was found in memory; `nil` = none. If a call was found and a peer is named, the user can
    /// mean no other call. If the found call is live, the user can mean no other call either, unless the callId names
    /// the user together with somebody outside that call.
    func awaited(_ id: CallID, for user: UserID, with peer: UserID?, besides found: Call?) -> [Awaited] {
        guard mayAwait else { return [] }
        if let found {
            guard peer == nil else { return [] }
            guard !found.isLive || CallResolution.mayName(id, user, otherThan: found) else { return [] }
        }
        return unread(id, of: user)
    }

    /// Returns what must be read before a signal other than an offer is handled.
    ///
    /// If a live call was found, only a signal without a peer can mean another call: it may be a late signal for an
    /// ended call with somebody else. If the sending device is in the live call, only an `end` can mean another call:
    /// it may be a resend of an `end` that the ended call accepted.
    func awaited(
        _ id: CallID,
        _ message: SignalMessage,
        from source: Source,
        _ peer: UserID?,
        besides found: Call?
    ) -> [Awaited] {
        guard let found, found.isLive else { return awaited(id, for: source.user, with: peer, besides: found) }
        guard peer == nil else { return [] }
        if case .end = message.content {} else if CallResolution.isIn(found, source.user, source.device) { return [] }
        return unread(id, of: source.user)
    }

    /// Whether any signal may have to wait for the store.
    var mayAwait: Bool { !calls.resting.isEmpty || queries.readsEpochs }

    private func unread(_ id: CallID, of user: UserID) -> [Awaited] {
        calls.resting.named(RestingCalls.name(id, of: user)).map(Awaited.call) + queries.epochs(id, of: user)
    }

    /// Returns the key whose epoch must be read before an offer begins a call; `nil` = the epoch is known.
    func unknownEpoch(_ message: SignalMessage, from caller: UserID, to callee: UserID) -> CallKey? {
        guard let id = message.callID, directory.mayHaveStoredEpoch(of: id) else { return nil }
        let key = CallKey(id: id, pair: Pair(caller, callee))
        return calls[key] == nil && !directory.knowsEpoch(of: key) ? key : nil
    }

    /// Returns what must be read before a user's newest parked offer to a peer is handled.
    ///
    /// Empty if no such offer is parked.
    func awaitedByOffer(from user: UserID, to peer: UserID) -> [Awaited] {
        let awaited = queries.newestOffer { offer, caller in
            let inItsName = offer.callID.flatMap { Room.peer(inCallID: $0, for: user) }
            // An offer whose peer cannot be read is refused when it is handled.
            return caller == user && (try? offer.peer(for: user)) ?? inItsName == peer
        }
        return awaited.map(Array.init) ?? []
    }

    /// Puts work aside until calls at rest are loaded and epochs are read.
    mutating func park(_ work: ParkedWork.Work, until awaited: [Awaited]) {
        trace(from: .calls, .waits(work.callID, calls: awaited.count))
        for one in queries.park(work, until: awaited) {
            switch one {
            case .call(let number): submit(.log(number), for: .load(number))
            case .epoch(let key): submit(.epoch(key), for: .epoch(key))
            // It was asked for when it was found that the signal must wait.
            case .decision: break
            }
        }
    }

    /// Loads a call at rest that can no longer be fetched, so that the signals in its log are moved to its timeline.
    mutating func restExpired(_ number: CallNumber) {
        guard let ended = calls.resting[number], turn.now >= ended.expiresAt else { return }
        park(.expiry(number), until: [.call(number)])
    }

    /// Removes an ended call that can no longer be fetched: its log is deleted, its timeline stays.
    mutating func forget(_ call: Call) {
        trace(call, .forgotten)
        keepSignals(of: call)
        commits.append(.logForgotten(call.number))
        for id in call.polls { if let poll = polls.remove(id) { respond(poll, as: id) } }
        calls.remove(call)
    }
}
