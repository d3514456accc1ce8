import CallCore

/// Requests for a call's log: one at a time for each call, repeated until the log has arrived.
extension CallClient {
    /// Requests the log, unless a request is under way.
    mutating func requestLog(of index: Int) {
        switch calls[index].fetching {
        case .idle: fetchLog(index, after: Call.Failures())
        case .underWay, .pausing: break
        }
    }

    mutating func fetchLog(_ index: Int, after failures: Call.Failures) {
        let authorization: Authorization
        if isTokenExpired {
            // Without a capability the request uses the expired token. The server refuses the request, and the pause
            // after the refusal ends as soon as there is a fresh token.
            authorization = calls[index].capability.map { .capability($0) } ?? .token
        } else {
            authorization = .token
        }
        lastFetch += 1
        let number = FetchNumber(rawValue: lastFetch)
        calls[index].fetching = .underWay(number, after: failures)
        let cursor = calls[index].epoch.map { Cursor(epoch: $0, seq: calls[index].seq) }
        out.append(.fetch(number, calls[index].callID, peer: calls[index].peer, since: cursor, authorization))
    }

    mutating func fetched(_ number: FetchNumber, _ result: Result<FetchedCall, RequestFailure>, at now: Moment) {
        var found: (index: Int, failures: Call.Failures)?
        for index in calls.indices {
            if case .underWay(number, let failures) = calls[index].fetching { found = (index, failures) }
        }
        // No call waits for this response any more.
        guard let (index, failures) = found else { return }
        calls[index].fetching = .idle
        switch result {
        case .success(let call):
            let mayHaveEnded = calls[index].mayHaveEnded
            calls[index].mayHaveEnded = false
            calls[index].mayHaveMissed = false
            take(call, for: calls[index].number, failures: failures, mayHaveEnded: mayHaveEnded, at: now)
        case .failure(.unreachable):
            // The pause stops growing after three failures, so that a server is asked soon after it can be reached
            // again.
            pauseFetching(index, Call.Failures(count: min(3, failures.count + 1), notFound: failures.notFound), at: now)
        case .failure(.refused(let code)):
            switch code {
            case "unauthenticated", "token_expired":
                tokenExpired(at: now)
                // If there is a capability, it is tried immediately.
                if calls[index].capability != nil, failures.count == 0 {
                    fetchLog(index, after: failures.increased)
                } else {
                    pauseFetching(index, failures.increased, at: now)
                }
            case "not_found":
                // The server has responded and has no log, so no entry was missed. A ringing call that has its offer
                // keeps ringing, and its log is not requested again.
                calls[index].mayHaveMissed = false
                notFound(index, failures, at: now)
            default: pauseFetching(index, failures.increased, at: now)
            }
        }
    }

    /// Returns whether the log is still needed.
    private func wantsLog(_ index: Int) -> Bool {
        guard calls[index].isLive else { return calls[index].epoch == nil && hasUnacknowledged(index) }
        if calls[index].mayHaveEnded || calls[index].mayHaveMissed { return true }
        switch calls[index].phase {
        case .ringing, .answering, .hiddenByOutgoingCall: return calls[index].negotiation.remoteOffer == nil
        case .connecting, .active, .calling: return true
        case .preparing, .ended: return false
        }
    }

    private mutating func pauseFetching(_ index: Int, _ failures: Call.Failures, at now: Moment) {
        if wantsLog(index) { pause(index, failures, at: now) }
    }

    private mutating func pause(_ index: Int, _ failures: Call.Failures, at now: Moment) {
        let until = now + Unacknowledged.pause(after: failures.count)
        calls[index].fetching = .pausing(until: until, after: failures)
    }

    /// Handles a response `not_found`.
    ///
    /// `earlier`: The failures before this response.
    private mutating func notFound(_ index: Int, _ earlier: Call.Failures, at now: Moment) {
        guard calls[index].isLive else {
            // The call was given up before the server knew of it: there is nothing to end.
            let isUnderWay = outbox.contains { $0.call == calls[index].number && $0.isInFlight }
            if !isUnderWay { clearOutbox(index) }
            return
        }
        // A server that crashed may not know the call until clients have resent the signals that it had not stored. So
        // `not_found` is believed only when it has come three times, and not before the sixth failure. A call that is
        // neither answered nor ringing ends by its own timer.
        var failures = earlier.increased
        failures.notFound += 1
        let isBelieved = calls[index].mayHaveEnded || !hasUnacknowledged(index)
        if calls[index].isAnswered && isBelieved || calls[index].phase.name == .ringing, failures.count >= 6,
            failures.notFound >= 3
        {
            endedRemotely(index, .failed, replacedBy: nil, at: now)
        } else if calls[index].isAnswered || wantsLog(index) {
            pause(index, failures, at: now)
        }
    }

    private mutating func take(
        _ fetched: FetchedCall,
        for number: UInt64,
        failures: Call.Failures,
        mayHaveEnded: Bool,
        at now: Moment
    ) {
        for object in fetched.signals { received(object, at: now) }
        // The signals may have ended or replaced the call, or changed its index.
        guard let index = calls.firstIndex(where: { $0.number == number }), fetched.callID == calls[index].callID else {
            return
        }
        let peer = fetched.room.flatMap { IncomingPush.peer(inRoom: $0, of: configuration.user) }
        if let peer, peer != calls[index].peer {
            // A call with another user has the same callId, and the server returned the log of that call.
            pauseFetching(index, failures.increased, at: now)
            return
        }
        if calls[index].epoch == nil, !isEpochTaken(fetched.epoch, excluding: index) {
            if calls[index].side == .callee || fetched.state != .ended { setEpoch(fetched.epoch, of: index) }
        }
        if calls[index].epoch == nil, !calls[index].isLive, fetched.state == .ended {
            clearOutbox(index)
            return
        }
        if calls[index].epoch == nil, calls[index].side == .callee, calls[index].isLive, fetched.state == .ended {
            // The server's newest call under this callId has ended, and this device remembers its epoch or (if the
            // server lost a call in a crash) a later epoch. So this call, which has no epoch, was announced by a late
            // push.
            endedRemotely(index, fetched.reason, replacedBy: nil, at: now)
            return
        }
        guard let epoch = calls[index].epoch, calls[index].isLive || hasUnacknowledged(index) else { return }
        if fetched.epoch > epoch {
            endedRemotely(index, .replaced, replacedBy: nil, at: now)
            return
        }
        guard fetched.epoch == epoch else {
            // The server returned an earlier epoch of the callId, because the server lost this call in a crash.
            guard calls[index].isLive else { return }
            calls[index].mayHaveEnded = mayHaveEnded
            notFound(index, failures, at: now)
            return
        }
        if fetched.state == .ended {
            endedRemotely(index, fetched.reason, replacedBy: fetched.replacedBy, at: now)
            return
        }
        if fetched.state == .ringing, calls[index].side == .callee, calls[index].isAnswered,
            !hasUnacknowledged(index, .firstAnswer)
        {
            // The server lost the answered call in a crash, and another call has got its callId and epoch.
            calls[index].mayHaveEnded = mayHaveEnded
            notFound(index, failures, at: now)
            return
        }
        handleLiveCall(index, fetched, failures: failures, at: now)
    }

    private mutating func handleLiveCall(_ index: Int, _ fetched: FetchedCall, failures: Call.Failures, at now: Moment)
    {
        applyDeferredOffer(of: index, at: now)
        if fetched.ringUntil != nil { calls[index].ringUntil = fetched.ringUntil }
        switch calls[index].phase {
        case .hiddenByOutgoingCall:
            // If the server has accepted our outgoing call and this incoming call still rings, the server sees no
            // glare, for example because it hides our call from the callee. Until the server has accepted our outgoing
            // call, the incoming call stays hidden.
            let own = calls.firstIndex { $0.peer == calls[index].peer && $0.isOutgoingUnanswered }
            guard own.map({ !hasUnacknowledged($0, .firstOffer) && calls[$0].epoch != nil }) ?? true else { return }
            if let own, shownCount >= configuration.capacity {
                // Only one of the two calls can be shown, and only the incoming one can be established.
                endLocally(own, .glare, at: now)
                if calls[index].phase.name == .ringing { answer(calls[index].uuid, at: now) }
            } else {
                ring(index, at: now)
            }
        case .answering where calls[index].negotiation.state == .stable && calls[index].negotiation.remoteOffer == nil:
            pauseFetching(index, failures.increased, at: now)
        case .preparing, .calling, .ringing, .answering, .connecting, .active, .ended: break
        }
    }
}
