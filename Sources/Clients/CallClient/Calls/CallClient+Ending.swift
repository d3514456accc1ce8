import CallCore

/// The end of calls: by the server, by this device and by time.
extension CallClient {
    /// Handles the end of a call that this device's user did not end.
    mutating func endedRemotely(_ index: Int, _ reason: EndReason?, replacedBy winner: CallID?, at now: Moment) {
        if reason == .glare, let winner, calls[index].isOutgoingUnanswered {
            lostGlare(index, to: winner, at: now)
            return
        }
        clearOutbox(index)
        guard calls[index].isLive else { return }
        let reason = reason ?? EndReason.fitting(nil, by: calls[index].side.other, answered: calls[index].isAnswered)
        markEnded(index, reason, reports: true, at: now)
    }

    /// Ends a call that neither the user nor the server ended, and reports the end to the system and the server.
    mutating func endLocally(_ index: Int, _ reason: EndReason, at now: Moment) {
        guard calls[index].isLive else { return }
        sendEnd(of: index, reason)
        markEnded(index, reason, reports: true, at: now)
    }

    /// Ends a call for the user; the system knows about it already.
    mutating func endForUser(_ index: Int, _ wish: EndReason?, at now: Moment) {
        guard calls[index].isLive else { return }
        let fitting = EndReason.fitting(wish, by: calls[index].side, answered: calls[index].isAnswered)
        // The confirmation reaches the server before the end.
        let reason = isBeingConfirmed(index) ? .confirmed : fitting
        sendEnd(of: index, wish)
        markEnded(index, reason, reports: false, at: now)
    }

    /// Sends the end of a call to the server, and drops the call's other signals that wait.
    ///
    /// The offer that began the call stays in the outbox if it was sent: its ack or refusal shows whether the server
    /// has the call. A confirmation stays too, before the end: without it, a scheduled call would ring again.
    ///
    /// `answered`: Whether the server counts the call as answered, although this device may not.
    mutating func sendEnd(of index: Int, _ reason: EndReason?, answered: Bool = false) {
        let number = calls[index].number
        outbox.removeAll {
            $0.call == number && !($0.role == .firstOffer && $0.wasSent) && $0.signal.content != .confirm
        }
        for place in outbox.indices where outbox[place].call == number && outbox[place].role == .firstOffer {
            outbox[place].isWithdrawn = true
        }
        // If no signal of the call has left this device, the server need not know about the end.
        guard calls[index].epoch != nil || calls[index].side == .callee || hasUnacknowledged(index) else { return }
        let isAnswered = answered || calls[index].isAnswered
        let told = EndReason.fitting(reason, by: calls[index].side, answered: isAnswered)
        enqueue(.end(told), of: index)
        let isLost = outbox.contains { $0.call == number && $0.isWithdrawn && !$0.isInFlight }
        if calls[index].epoch == nil, calls[index].side == .callee || isLost { requestLog(of: index) }
    }

    /// Turns a call into an ended one.
    ///
    /// This function sends nothing to the server. If the server must learn of the end, `sendEnd` is called first.
    mutating func markEnded(_ index: Int, _ reason: EndReason, reports: Bool, keepsMedia: Bool = false, at now: Moment)
    {
        let call = calls[index]
        guard call.isLive else { return }
        calls[index].phase = .ended(reason, at: now)
        if call.isAudioOn, !keepsMedia {
            calls[index].isAudioOn = false
            if !call.isScheduled { out.append(.stopAudio(call.uuid)) }
        }
        if call.usesMedia, !keepsMedia { out.append(.closeMedia(call.uuid)) }
        if reports, call.isReported { out.append(.reportEnded(call.uuid, ReportedEnd(reason))) }
        calls[index].negotiation.clear()
        calls[index].receivedSignals = []
        // A fetch is still useful only for the epoch, which is needed to end the call on the server.
        if call.epoch != nil || !hasUnacknowledged(index) { calls[index].fetching = .idle }
        rememberEarlyEnds(of: index, at: now)
        if call.isOutgoingUnanswered, !keepsMedia { unhide(call.peer, at: now) }
    }

    /// Remembers, as ended calls, the other calls whose ends were kept while our call waited for its epoch.
    ///
    /// Our call never got an epoch, so these ends do not belong to it. The pushes of those calls may still be on their
    /// way, and must not ring.
    private mutating func rememberEarlyEnds(of index: Int, at now: Moment) {
        let call = calls[index]
        guard call.epoch == nil, !hasUnacknowledged(index) else { return }
        calls[index].earlyEnds = []
        for end in call.earlyEnds where !isEpochTaken(end.epoch, excluding: index) {
            remember(call.callID, epoch: end.epoch, with: call.peer, endedFor: end.reason ?? .hangup, at: now)
        }
    }

    /// Remembers a call that is unknown here as ended, so that a push for it does not ring.
    ///
    /// Returns the index of the remembered call.
    @discardableResult
    mutating func remember(
        _ callID: CallID,
        epoch: UInt32,
        with peer: UserID,
        side: Side = .callee,
        endedFor reason: EndReason,
        at now: Moment
    ) -> Int {
        append(
            // Two peers may use one callId, so another call may already have this UUID.
            unusedUUID(CallUUID(call: callID, epoch: epoch), at: now),
            callID,
            peer,
            side: side,
            epoch: epoch,
            .ended(reason, at: now),
            DisplayedPeer(handle: peer.text, name: nil, hasVideo: false)
        )
    }

    mutating func providerReset(at now: Moment) {
        isAudioSessionActive = false
        for index in calls.indices where calls[index].isLive {
            // CallKit has forgotten the call, so no end is reported. Unlike `markEnded`, this code lets no call ring
            // that was hidden by an outgoing call.
            sendEnd(of: index, .failed)
            let call = calls[index]
            calls[index].phase = .ended(.failed, at: now)
            calls[index].isAudioOn = false
            if call.isAudioOn, !call.isScheduled { out.append(.stopAudio(call.uuid)) }
            if call.usesMedia { out.append(.closeMedia(call.uuid)) }
            calls[index].negotiation.clear()
            calls[index].receivedSignals = []
            if call.epoch != nil || !hasUnacknowledged(index) { calls[index].fetching = .idle }
        }
    }

    /// Ends the calls whose time has run out, and fetches the logs of those calls hidden by an outgoing call whose
    /// check is due.
    mutating func deadlineReached(at now: Moment) {
        for index in calls.indices {
            switch calls[index].phase {
            case .ringing(let until) where now >= until: markEnded(index, .unanswered, reports: true, at: now)
            case .hiddenByOutgoingCall(let until, _) where now >= until:
                markEnded(index, .unanswered, reports: true, at: now)
            case .hiddenByOutgoingCall(let until, let checkAt) where now >= checkAt:
                calls[index].phase = .hiddenByOutgoingCall(until: until, checkAt: now + ClientLimits.hiddenCallCheck)
                requestLog(of: index)
            case .preparing(let until) where now >= until: endLocally(index, .failed, at: now)
            case .calling(let until) where now >= until: endLocally(index, .unanswered, at: now)
            case .answering(let until) where now >= until: endLocally(index, .failed, at: now)
            case .connecting, .active: abandonUnansweredOffer(index, at: now)
            case .preparing, .calling, .ringing, .hiddenByOutgoingCall, .answering, .ended: break
            }
        }
    }
}
