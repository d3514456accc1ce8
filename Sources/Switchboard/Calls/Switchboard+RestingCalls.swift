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

    // MARK: Loading calls at rest

    /// Returns the calls at rest that a user may mean by a callId.
    ///
    /// `found`: The call that was found in memory; `nil` = none. If a call was found and a peer is named, the user can
    /// mean no other call. If the found call is live, the user can mean no other call either, unless the callId names
    /// the user together with somebody outside that call.
    func callsAtRest(_ id: CallID, for user: UserID, with peer: UserID?, besides found: Call?) -> [CallNumber] {
        guard !calls.resting.isEmpty else { return [] }
        if let found {
            guard peer == nil else { return [] }
            guard !found.isLive || CallResolution.mayName(id, user, otherThan: found) else { return [] }
        }
        return calls.resting.named(RestingCalls.name(id, of: user))
    }

    /// Returns the calls at rest that a signal other than an offer may mean.
    ///
    /// If a live call was found, only a signal without a peer can mean another call: it may be a late signal for an
    /// ended call with somebody else. If the sending device is in the live call, only an `end` can mean another call:
    /// it may be a resend of an `end` that the ended call accepted.
    func callsAtRest(
        _ id: CallID,
        _ message: SignalMessage,
        from source: Source,
        _ peer: UserID?,
        besides found: Call?
    ) -> [CallNumber] {
        guard let found, found.isLive else {
            return callsAtRest(id, for: source.user, with: peer, besides: found)
        }
        guard peer == nil else { return [] }
        if case .end = message.content {} else if CallResolution.isIn(found, source.user, source.device) { return [] }
        return calls.resting.named(RestingCalls.name(id, of: source.user))
    }

    /// Returns the calls at rest that must be loaded before a user's newest parked offer to a peer is handled.
    ///
    /// Empty if no such offer is parked.
    func awaitedByOffer(from user: UserID, to peer: UserID) -> [CallNumber] {
        let awaited = queries.newestOffer { offer, caller in
            let inItsName = offer.callID.flatMap { Room.peer(inCallID: $0, for: user) }
            // An offer whose peer cannot be read is refused when it is handled.
            return caller == user && (try? offer.peer(for: user)) ?? inItsName == peer
        }
        return awaited?.sorted() ?? []
    }

    /// Puts work aside until calls are loaded.
    mutating func park(_ work: ParkedWork.Work, until numbers: [CallNumber]) {
        trace(from: .calls, .waits(work.callID, calls: numbers.count))
        for number in queries.park(work, until: numbers) { submit(.log(number), for: .load(number)) }
    }

    /// Loads a call at rest that can no longer be fetched, so that the signals in its log are moved to its timeline.
    mutating func restExpired(_ number: CallNumber) {
        guard let ended = calls.resting[number], turn.now >= ended.expiresAt else { return }
        park(.expiry(number), until: [number])
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
