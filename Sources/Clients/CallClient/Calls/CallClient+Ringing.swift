import CallCore

/// Incoming calls and glare.
extension CallClient {
    @discardableResult
    mutating func append(
        _ uuid: CallUUID,
        _ callID: CallID,
        _ peer: UserID,
        side: Side = .callee,
        epoch: UInt32?,
        _ phase: Phase,
        _ caller: DisplayedPeer,
        isReported: Bool = false
    ) -> Int {
        lastCall += 1
        calls.append(
            Call(
                number: lastCall,
                uuid: uuid,
                callID: callID,
                peer: peer,
                side: side,
                epoch: epoch,
                phase: phase,
                caller: caller,
                isReported: isReported
            )
        )
        return calls.count - 1
    }

    /// Returns `wished` if no known call has this UUID, else a new UUID.
    mutating func unusedUUID(_ wished: CallUUID, at now: Moment) -> CallUUID {
        guard calls.contains(where: { $0.uuid == wished }) else { return wished }
        lastReport += 1
        return CallUUID(name: "ringline:report/\(now.milliseconds)/\(lastReport)/\(configuration.signalIDPrefix)")
    }

    /// Returns the moment at which ringing ends at the latest, by this device's clock.
    ///
    /// `at`: When the server sent `ringUntil`, by the server's clock; `nil` = unknown.
    func ringEnd(_ ringUntil: Moment?, sentAt at: Moment?, at now: Moment) -> Moment {
        var left = ClientLimits.longestRing
        if let ringUntil {
            if let at { left = min(left, ringUntil - at) }
            // An unknown skew counts as zero. But a timestamp from the future shows that this device's clock is behind.
            let skew = clockSkew ?? min(.seconds(0), at.map { now - $0 } ?? .seconds(0))
            left = min(left, (ringUntil + skew) - now)
        }
        return now + max(.seconds(0), left) + ClientLimits.ringGrace
    }

    /// Handles an offer that begins a call, from the connection or from a log.
    mutating func incoming(
        _ offer: IncomingOffer,
        _ envelope: ServerMessage.Envelope,
        from peer: UserID,
        at now: Moment
    ) {
        let caller = displayedPeer(offer, peer: peer, before: nil)
        let known = lastCall
        let until = ringEnd(offer.ringUntil, sentAt: envelope.at, at: now)
        let uuid = unusedUUID(
            offer.callUUID ?? CallUUID(call: envelope.callID, epoch: envelope.epoch),
            at: now
        )
        // A waiting offer means that this user is in an answered call. If this device is calling the peer, that
        // outgoing call is assumed to be the answered one, and its answer has not arrived here yet. So there is no
        // glare. No user makes a scheduled call.
        if !offer.isWaiting, offer.schedule == nil,
            let own = calls.lastIndex(where: { $0.peer == peer && $0.isOutgoingUnanswered })
        {
            resolveGlare(own, envelope.callID, envelope.epoch, offer, uuid, caller, until: until, at: now)
        } else if shownCount >= configuration.capacity {
            refuse(uuid, envelope.callID, peer, epoch: envelope.epoch, caller, at: now)
        } else {
            let index = append(uuid, envelope.callID, peer, epoch: envelope.epoch, .ringing(until: until), caller)
            calls[index].negotiation.keep(offer)
            calls[index].ringUntil = offer.ringUntil
            ring(index, at: now)
        }
        // If too many calls are hidden by outgoing calls, `resolveGlare` has added no call. A call with this callId is
        // then an older call, which must not take the values of this offer.
        guard lastCall > known else { return }
        if let index = calls.lastIndex(where: { $0.callID == envelope.callID && $0.peer == peer }) {
            calls[index].seq = max(calls[index].seq, envelope.seq)
            if let schedule = offer.schedule { note(schedule, of: index) }
            if let device = envelope.fromDevice, let id = envelope.id {
                let name = Call.SignalKey(device: device, id: id)
                calls[index].firstOffer = name
                if calls[index].isLive { calls[index].receivedSignals.append(name) }
            }
        }
    }

    /// Refuses a call as `busy`, because there is no room for more calls.
    @discardableResult
    mutating func refuse(
        _ uuid: CallUUID,
        _ callID: CallID,
        _ peer: UserID,
        epoch: UInt32?,
        _ caller: DisplayedPeer,
        at now: Moment
    ) -> Int {
        let index = append(uuid, callID, peer, epoch: epoch, .ended(.busy, at: now), caller)
        enqueue(.end(.busy), of: index)
        return index
    }

    /// Shows a call to the user and notifies the caller.
    mutating func ring(_ index: Int, at now: Moment) {
        let until: Moment
        switch calls[index].phase {
        case .ringing(let moment): until = moment
        case .hiddenByOutgoingCall(let moment, _): until = moment
        case .preparing, .calling, .answering, .connecting, .active, .ended: return
        }
        guard now < until else {
            markEnded(index, .unanswered, reports: true, at: now)
            return
        }
        if !calls[index].isShown, shownCount >= configuration.capacity {
            endLocally(index, .busy, at: now)
            return
        }
        calls[index].phase = .ringing(until: until)
        if !calls[index].isReported {
            calls[index].isReported = true
            out.append(.reportIncoming(calls[index].uuid, calls[index].displayedPeer))
            calls[index].awaitsReport = configuration.awaitsReports
        }
        if !calls[index].awaitsReport { enqueue(.ringing, of: index) }
        if !isConnected { out.append(.connect) }
    }

    /// Notifies the caller of a call that the system shows.
    mutating func reportSucceeded(_ uuid: CallUUID) {
        guard let index = liveIndex(uuid), calls[index].awaitsReport else { return }
        calls[index].awaitsReport = false
        if calls[index].phase.name == .ringing { enqueue(.ringing, of: index) }
    }

    /// Ends a call that the system does not show, on this device only.
    ///
    /// A call that the user has answered meanwhile, on a screen of the app's own, goes on.
    mutating func reportFailed(_ uuid: CallUUID, _ why: Silence, at now: Moment) {
        guard let index = liveIndex(uuid), calls[index].phase.name == .ringing else { return }
        let number = calls[index].number
        outbox.removeAll { $0.call == number && $0.signal.kind == .ringing && !$0.wasSent }
        enqueue(.silenced(why), of: index)
        if calls[index].epoch == nil { requestLog(of: index) }
        markEnded(index, .unanswered, reports: false, at: now)
    }

    /// Resolves a glare; both devices decide by `Glare.winner(_:_:)`, as the server does.
    mutating func resolveGlare(
        _ own: Int,
        _ callID: CallID,
        _ epoch: UInt32?,
        _ offer: IncomingOffer?,
        _ uuid: CallUUID,
        _ caller: DisplayedPeer,
        until: Moment,
        at now: Moment
    ) {
        guard Glare.winner(calls[own].callID, callID) == callID else {
            let hiddenCount = calls.count { $0.phase.name == .hiddenByOutgoingCall }
            guard hiddenCount < ClientLimits.hiddenCalls else { return }
            let checkAt = now + ClientLimits.hiddenCallCheck
            let index = append(
                uuid,
                callID,
                calls[own].peer,
                epoch: epoch,
                .hiddenByOutgoingCall(until: until, checkAt: checkAt),
                caller
            )
            if let offer { calls[index].negotiation.keep(offer) }
            calls[index].ringUntil = offer?.ringUntil
            return
        }
        let index = replaceLostCall(callID, epoch, inPlaceOf: own, at: now)
        if let offer { calls[index].negotiation.keep(offer) }
        startAnswering(index)
    }

    /// Handles an outgoing call that lost a glare: the peer's call is answered immediately, because this user wanted to
    /// talk.
    mutating func lostGlare(_ own: Int, to callID: CallID, at now: Moment) {
        if callID != calls[own].callID { clearOutbox(own) }
        // If both calls have the same callId and a crash of the server lost our call, the call that won may have our
        // call's epoch. So our call gives up its epoch.
        if callID == calls[own].callID { calls[own].epoch = nil }
        if let known = calls.lastIndex(where: { $0.callID == callID && $0.peer == calls[own].peer && $0.isLive }),
            known != own
        {
            markEnded(own, .glare, reports: true, at: now)
            if calls[known].phase.name == .hiddenByOutgoingCall { ring(known, at: now) }
            if calls[known].phase.name == .ringing { answer(calls[known].uuid, at: now) }
            return
        }
        let index = replaceLostCall(callID, nil, inPlaceOf: own, isOver: true, at: now)
        startAnswering(index)
    }

    /// Ends the call `own`, which lost a glare, and gives its UUID to the call that won, so that the user sees one call
    /// only.
    private mutating func replaceLostCall(
        _ callID: CallID,
        _ epoch: UInt32?,
        inPlaceOf own: Int,
        isOver: Bool = false,
        at now: Moment
    ) -> Int {
        let loser = calls[own]
        if loser.negotiation.state != .stable { out.append(.rollback(loser.uuid)) }
        // The server ends the losing call too, unless it is hidden from its callee. End it here in both cases.
        if !isOver { sendEnd(of: own, .cancelled) }
        markEnded(own, .glare, reports: false, keepsMedia: true, at: now)
        let phase = Phase.answering(until: now + ClientLimits.setupTimeout)
        let index = append(loser.uuid, callID, loser.peer, epoch: epoch, phase, loser.displayedPeer, isReported: true)
        calls[index].usesMedia = loser.usesMedia
        calls[index].media = loser.media
        // The engine continues the round numbers of the call that lost.
        calls[index].negotiation.lastRound = loser.negotiation.lastRound
        return index
    }

    /// Lets this peer's hidden calls ring, because the outgoing call that hid them has ended unanswered.
    mutating func unhide(_ peer: UserID, at now: Moment) {
        guard !calls.contains(where: { $0.peer == peer && $0.isOutgoingUnanswered }) else { return }
        for index in calls.indices where calls[index].peer == peer && calls[index].phase.name == .hiddenByOutgoingCall {
            ring(index, at: now)
        }
    }

    /// Schedules an early fetch of the logs of this peer's hidden calls, because the server has accepted our outgoing
    /// call.
    ///
    /// If a log then shows that the peer's call still rings, there is no glare, and the peer's call must ring here.
    mutating func checkHiddenCalls(of peer: UserID, at now: Moment) {
        for index in calls.indices where calls[index].peer == peer {
            guard case .hiddenByOutgoingCall(let until, let checkAt) = calls[index].phase else { continue }
            calls[index].phase = .hiddenByOutgoingCall(until: until, checkAt: min(checkAt, now + .seconds(1)))
            // A response that is on its way may describe the time before our call reached the server, so it is not
            // waited for.
            calls[index].fetching = .idle
        }
    }
}
