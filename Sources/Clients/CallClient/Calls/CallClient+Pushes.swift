import CallCore

/// VoIP pushes: the outputs for each push contain a report to the system.
extension CallClient {
    /// The state of this device, on which the decision on a push depends (``PushDecision``).
    public var pushContext: PushDecision.Context {
        let known = calls.map { call in
            PushDecision.Known(
                uuid: call.uuid,
                callID: call.callID,
                peer: call.peer,
                epoch: call.epoch,
                ringUntil: call.ringUntil,
                state: state(of: call)
            )
        }
        return PushDecision.Context(
            user: configuration.user,
            calls: known,
            isFull: shownCount >= configuration.capacity,
            clockSkew: clockSkew
        )
    }

    private func state(of call: Call) -> PushDecision.State {
        switch call.phase {
        case .preparing, .calling: return .calling
        case .ringing, .answering: return .incoming
        case .connecting, .active: return call.side == .caller ? .answered : .incoming
        case .ended(let reason, _): return .ended(reason)
        case .hiddenByOutgoingCall:
            let own = calls.last { $0.peer == call.peer && $0.isShown && !$0.isIncomingUnanswered }
            return own.map { .hiddenByOutgoingCall(by: $0.uuid) } ?? .incoming
        }
    }

    mutating func pushed(_ dictionary: [String: PushValue], at now: Moment) {
        let push = IncomingPush(dictionary, for: configuration.user)
        if PushDecision.isForOther(push, than: configuration.user) { return reportForOther(push, at: now) }
        switch PushDecision.of(push, pushContext, at: now) {
        case .ring: ring(push, at: now)
        case .attachToExisting(let uuid): attach(push, to: uuid, at: now)
        case .reportThenEnd(let reason): reportThenEnd(push, reason, at: now)
        }
        if !isConnected { out.append(.connect) }
    }

    private mutating func ring(_ push: IncomingPush, at now: Moment) {
        // The decision is `ring` only for a push that names the call and its caller.
        guard let callID = push.callID, let peer = push.from else { return reportThenEnd(push, .failed, at: now) }
        for index in calls.indices where calls[index].callID == callID && calls[index].peer == peer {
            // The push is of a later epoch: the callId is used again.
            endedRemotely(index, .replaced, replacedBy: nil, at: now)
        }
        let uuid = unusedUUID(push.uuid ?? CallUUID(call: callID, epoch: push.epoch ?? 1), at: now)
        let until = ringEnd(push.ringUntil, sentAt: push.sentAt, at: now)
        let index = append(uuid, callID, peer, epoch: push.epoch, .ringing(until: until), push.caller)
        calls[index].ringUntil = push.ringUntil
        calls[index].capability = push.capability
        if let schedule = push.schedule {
            note(schedule, of: index)
        } else if let sdp = push.offer {
            calls[index].negotiation.keep(offer(of: push, sdp))
        }
        ring(index, at: now)
        requestLog(of: index)
    }

    private func offer(of push: IncomingPush, _ sdp: String) -> IncomingOffer {
        var offer = IncomingOffer(
            sdp: sdp,
            hasVideo: push.caller.hasVideo,
            displayName: push.caller.name,
            callUUID: push.uuid,
            ringUntil: push.ringUntil
        )
        offer.isCopy = true
        return offer
    }

    private mutating func attach(_ push: IncomingPush, to uuid: CallUUID, at now: Moment) {
        guard let known = liveIndex(uuid), let callID = push.callID, let peer = push.from else {
            return reportThenEnd(push, .failed, at: now)
        }
        if calls[known].isReported {
            out.append(.reportRepeated(uuid, calls[known].displayedPeer))
        } else {
            // The call hidden by an outgoing call must be reported now, whatever happens to it next.
            calls[known].isReported = true
            out.append(.reportIncoming(uuid, calls[known].displayedPeer))
            calls[known].awaitsReport = configuration.awaitsReports
            ring(known, at: now)
            // `ring` has ended the call if there was no room for it or its time had run out.
            guard calls[known].isLive else { return }
        }
        if let index = calls.lastIndex(where: { $0.callID == callID && $0.peer == peer && $0.isLive }) {
            guard calls[index].side == .callee else { return }
            if let epoch = push.epoch, calls[index].epoch == nil, !isEpochTaken(epoch, excluding: index) {
                setEpoch(epoch, of: index)
            }
            calls[index].capability = push.capability ?? calls[index].capability
            if let schedule = push.schedule, mayBeScheduled(calls[index]) { note(schedule, of: index) }
            if calls[index].negotiation.remoteOffer == nil, calls[index].negotiation.remoteSDP == nil {
                requestLog(of: index)
            }
            return
        }
        // This device is calling the peer that calls it: a glare.
        let until = ringEnd(push.ringUntil, sentAt: push.sentAt, at: now)
        let wished = unusedUUID(push.uuid ?? CallUUID(call: callID, epoch: push.epoch ?? 1), at: now)
        let copy = push.offer.map { offer(of: push, $0) }
        resolveGlare(known, callID, push.epoch, copy, wished, push.caller, until: until, at: now)
        if let index = calls.lastIndex(where: { $0.callID == callID && $0.peer == peer && $0.isLive }) {
            calls[index].capability = push.capability
            calls[index].ringUntil = push.ringUntil
            requestLog(of: index)
        }
    }

    private mutating func reportThenEnd(_ push: IncomingPush, _ reason: EndReason, at now: Moment) {
        var wished = push.uuid
        if wished == nil, let callID = push.callID { wished = CallUUID(call: callID, epoch: push.epoch ?? 1) }
        // A malformed push identifies no call, so its report gets a new UUID.
        let isInvalid =
            !push.isIncomingCall || push.callID == nil || push.from == nil || push.from == configuration.user
        let uuid = isInvalid ? newUUID(at: now) : unusedUUID(wished ?? newUUID(at: now), at: now)
        out.append(.reportIncoming(uuid, push.caller))
        out.append(.reportEnded(uuid, ReportedEnd(reason)))
        guard let callID = push.callID, let peer = push.from, !isInvalid, uuid == wished else {
            return
        }
        // The call is remembered for two reasons: it must not ring when its offer comes over the connection, and a
        // later push must not use its UUID.
        let index = append(
            uuid,
            callID,
            peer,
            epoch: push.epoch,
            .ended(reason, at: now),
            push.caller,
            isReported: true
        )
        calls[index].ringUntil = push.ringUntil
        calls[index].capability = push.capability
        calls[index].endedAsLate = reason == .unanswered
        if let schedule = push.schedule { note(schedule, of: index) }
        if reason == .busy {
            enqueue(.end(.busy), of: index)
            if push.epoch == nil { requestLog(of: index) }
        }
    }

    /// Reports the call of another user's push, ends it at once, and tells the server with the capability of the push.
    ///
    /// The report names nobody, because that user's calls are not for this one. Nothing is kept: a call of this user
    /// may have the same callId and caller. The server is told once, without the outbox: if that is lost, only the
    /// explanation of the call lacks it.
    private mutating func reportForOther(_ push: IncomingPush, at now: Moment) {
        let uuid = newUUID(at: now)
        out.append(.reportIncoming(uuid, DisplayedPeer(handle: "unknown", name: nil, hasVideo: false)))
        out.append(.reportEnded(uuid, .failed))
        guard push.isIncomingCall, let callID = push.callID, let peer = push.from, let to = push.to,
            let capability = push.capability, let id = newSignalID()
        else { return }
        let signal = OutgoingSignal(
            id: id,
            callID: callID,
            epoch: push.epoch,
            peer: peer,
            user: to,
            device: configuration.device,
            content: .silenced(.otherUser)
        )
        out.append(.post(signal, .capability(capability)))
    }

    /// Makes a UUID for one report.
    private mutating func newUUID(at now: Moment) -> CallUUID {
        lastReport += 1
        return CallUUID(name: "ringline:report/\(now.milliseconds)/\(lastReport)/\(configuration.signalIDPrefix)")
    }
}
