import CallCore
import CallPorts
import CallWire

/// The gate before a call: it asks the app's backend about the offer, and applies the decision.
extension Switchboard {
    /// What becomes of an offer that would begin a call.
    enum OfferGate {
        /// The call begins; the backend has nothing to do with it, or has allowed it.
        case begins(CallDecisions.Decided?)
        /// The offer waits for a decision.
        case waits(DecisionID)
        /// The offer is refused.
        case refused(WireError)
    }

    /// Returns the decision that an offer has waited for; `nil` = none.
    mutating func decision(
        on message: SignalMessage,
        from source: Source,
        to callee: UserID
    ) -> CallDecisions.Decided? {
        func fits(_ question: CallDecisions.Question) -> Bool {
            guard question.caller == source.user else { return false }
            // Another device may have another token, which the backend has not seen.
            return source.device.isSame(as: question.device)
                && question.isAbout(message.callID, message.id, from: source.device, to: callee)
        }
        if let decided = queries.decisions.current {
            // An offer that has neither a callId nor an id is known by its caller and callee.
            let isNameless = message.id == nil && message.callID == nil
            if fits(decided.question) { return decided }
            if isNameless, decided.question.caller == source.user, decided.question.callee == callee { return decided }
        }
        return queries.decisions.takeKept(at: turn.now, where: fits)
    }

    /// Keeps the decision on an offer that waits for the store once more.
    mutating func keepDecision(on message: SignalMessage, from source: Source, to peer: UserID?) {
        guard let question = queries.decisions.current?.question, question.caller == source.user,
            question.isAbout(message.callID, message.id, from: source.device, to: peer)
        else { return }
        queries.decisions.keepCurrent(at: turn.now)
    }

    /// Asks the backend about an offer, or applies the decision that the offer has waited for.
    mutating func gate(
        _ offer: Offer,
        _ message: SignalMessage,
        from source: Source,
        to callee: UserID,
        _ decided: CallDecisions.Decided?
    ) -> OfferGate {
        if let decided { return apply(decided, to: offer) }
        if queries.decisions.isWithdrawn(offer.digest, message.callID, of: source.user, to: callee, at: turn.now) {
            return .refused(WireError(.callEnded, "the caller has ended the call"))
        }
        guard let settings = policy.decisions, mustAsk(message, from: source.user, to: callee) else {
            return .begins(nil)
        }
        switch queries.decisions.admission(of: source.user, at: turn.now) {
        case .tooManyOfCaller:
            return .refused(
                exceeded(.decisions, "at most \(CallDecisions.openPerCaller) new calls that the app's backend decides")
            )
        case .failed(let outcome):
            let callID = message.callID ?? makeCallID()
            let unasked = CallDecisions.Decided(
                question: queries.decisions.unasked(source, callee, callID, message, at: turn.now),
                verdict: .failed(outcome),
                waited: .milliseconds(0),
                // A flood of offers must not become a flood of rows.
                isRecorded: outcome == .overloaded
            )
            metrics.decisions.outcomes[outcome, default: 0] += 1
            return apply(unasked, to: offer)
        case .asks: return .waits(ask(message, offer, from: source, to: callee, settings))
        }
    }

    /// Whether the server has no reason of its own against the call, so that the backend must be asked.
    private func mustAsk(_ message: SignalMessage, from caller: UserID, to callee: UserID) -> Bool {
        if isNumberBlocked(in: message, of: caller, by: callee) { return false }
        if directory.reasonToHide(caller, from: callee, at: turn.date) != nil { return false }
        if let id = message.callID, CallResolution.isCallIDTaken(id, for: caller, of: callee, in: calls) {
            return false
        }
        // A call of the two may make way for the new one, and the callee is then not busy any more.
        return policy.whenBusy != .busy || !isInCall(callee) || calls.live(of: caller, with: callee) != nil
    }

    private mutating func ask(
        _ message: SignalMessage,
        _ offer: Offer,
        from source: Source,
        to callee: UserID,
        _ settings: DecisionPolicy
    ) -> DecisionID {
        let id = message.callID ?? makeCallID()
        let deadline = turn.now + settings.timeout
        let question = queries.decisions.ask(
            source.user,
            source.device,
            callee,
            id,
            isMade: message.callID == nil,
            offer: message.id,
            digest: offer.digest,
            until: deadline,
            at: turn.now
        )
        schedule(.decisions, at: deadline)
        let body = DecisionQuestion.body(question, hasVideo: offer.hasVideo, claims: source.claims)
        turn.out.append(.ask(DecisionRequest(id: question.id, body: body, timeout: settings.requestTimeout)))
        return question.id
    }

    /// Returns what a decision means for an offer that has waited for it, and stores a refusal.
    private mutating func apply(_ decided: CallDecisions.Decided, to offer: Offer) -> OfferGate {
        switch decided.verdict {
        case .allowed, .hidden: return .begins(decided)
        case .withdrawn: return .refused(WireError(.callEnded, "the caller has ended the call"))
        case .failed where policy.decisions?.failure == .allow: return .begins(decided)
        case .failed(let outcome):
            recordRefusal(decided, hasVideo: offer.hasVideo)
            let why = outcome == .overloaded ? "has too many questions" : "did not decide"
            return .refused(WireError(.decisionUnavailable, "the app's backend \(why); try again"))
        case .refused(let code, let message):
            recordRefusal(decided, hasVideo: offer.hasVideo)
            var error = WireError(.refusedByApp, message ?? "the app refused the call")
            error.appCode = code
            return .refused(error)
        }
    }

    // MARK: Signals of an undecided call

    /// Withdraws the undecided offer of an `end`, and lets any other signal of its call wait for the decision.
    ///
    /// Returns the error for the sender, or for the wait; `nil` = the signal's call is another.
    mutating func holdOrWithdraw(_ message: SignalMessage, from source: Source, _ peer: UserID?) -> WireError? {
        let isEnd = message.signal.kind == .end
        let question = queries.decisions.newest(of: source.user) { question in
            if let peer, peer != question.callee { return false }
            guard isEnd || source.device.isUnnamed || question.device.isSame(as: source.device) else { return false }
            if let id = message.callID { return !question.madeCallID && id == question.callID }
            return peer != nil
        }
        guard let question, message.epoch == nil else { return nil }
        // A signal that names no call is for the live one, if there is one.
        if !isEnd, message.callID == nil, calls.live(of: source.user, with: question.callee) != nil { return nil }
        if isEnd {
            // Those that wait behind the offer are refused by ``decisionsDue()``, at once.
            queries.decisions.withdraw(question.id, at: turn.now)
            schedule(.decisions, at: turn.now)
            // The offer may have been about to replace a call, which ends too.
            if isLive(message.callID, of: source, with: question.callee) { return nil }
            return WireError(.callEnded, "the call was ended before the app's backend had decided")
        }
        return wait(for: question.id)
    }

    /// Whether a user has a live call under a callId, or with a peer if there is no callId.
    private func isLive(_ id: CallID?, of source: Source, with peer: UserID) -> Bool {
        guard let id else { return calls.live(of: source.user, with: peer) != nil }
        return calls.find(id, for: source.user, with: peer, on: source.device)?.isLive ?? false
    }

    /// Lets an offer wait for the decision about an earlier offer of its call, such as the one that it repeats.
    ///
    /// Returns the error for the wait, or for the sender; `nil` = there is no such decision.
    mutating func hold(_ message: SignalMessage, from source: Source, to peer: UserID?) -> WireError? {
        guard queries.decisions.isAnyOpen, message.epoch == nil else { return nil }
        let question = queries.decisions.newest(of: source.user) {
            $0.isAbout(message.callID, message.id, from: source.device, to: peer)
        }
        return question.map { wait(for: $0.id) }
    }

    /// Makes the current signal wait for a decision; returns the error for the wait, or for the sender.
    private mutating func wait(for id: DecisionID) -> WireError {
        guard queries.decisions.admitWaiting(id) else {
            return exceeded(.decisions, "at most \(CallDecisions.waitingPerQuestion) signals before the app's decision")
        }
        queries.awaited = [.decision(id)]
        return Self.unknownCall
    }
}

extension Switchboard {
    /// Stores a refused offer as a call that no user sees, so that `ringline explain` can say why nothing rang.
    ///
    /// It is no call: it is not in memory, has no events for the backend, and counts for no limit but those on offers.
    private mutating func recordRefusal(_ decided: CallDecisions.Decided, hasVideo: Bool) {
        guard !decided.isRecorded else { return }
        if queries.decisions.current?.question.id == decided.question.id {
            queries.decisions.current?.isRecorded = true
        }
        let question = decided.question
        let key = CallKey(id: question.callID, pair: Pair(question.caller, question.callee))
        let number = calls.makeNumber()
        let record = CallRecord(
            number: number,
            id: question.callID,
            epoch: directory.nextEpoch(of: key, after: calls[key]?.epoch, at: turn.now),
            room: Room.name(caller: question.caller, callee: question.callee),
            caller: question.caller,
            callee: question.callee,
            displayName: nil,
            hasVideo: hasVideo,
            startedAt: question.askedAt,
            ringUntil: turn.now,
            endedAt: turn.now,
            reason: .declined,
            hidden: .refusedOffer
        )
        metrics.callsHidden[.refusedOffer, default: 0] += 1
        commits.append(.call(record))
        commits.append(.event(number, TimelineRecord(at: turn.now, event: decided.event)))
        commits.append(.logForgotten(number))
    }
}
