import CallCore
import CallPorts
import CallWire

/// Finds the call of a signal, and hands the signal to it.
extension Switchboard {
    mutating func acceptSignal(_ message: SignalMessage, from source: Source) -> Result<Receipt, WireError> {
        if mayRefuseSignals, let refusal = refusal(of: message.content, from: source.user) {
            return .failure(refusal)
        }
        let peer: UserID?
        do throws(WireError) { peer = try message.peer(for: source.user) } catch { return .failure(error) }
        guard case .offer(let offer) = message.content else {
            return takeOrdinary(message, from: source, peer)
        }
        var message = message
        message.displayName = policy.shownName(message.displayName, of: source.name, isService: source.isService)
        if policy.callerName != .any, !source.isService { message.omitHandle(of: source.user) }
        return acceptOffer(offer, message, from: source, peer)
    }

    /// Returns the refusal that a signal with this content from a user gets now; `nil` = it is accepted.
    private mutating func refusal(of content: Signal.Content, from user: UserID) -> WireError? {
        if connections.isDraining { return WireError(.draining, "the server is shutting down") }
        if case .end = content { return nil }
        if metrics.isStalled { return WireError(.storeUnavailable, "the database cannot be written at the moment") }
        switch content {
        // A user whose quota is used up can still take and end calls. Such signals are few: one ringing of a device, one
        // answer to an offer, which counts towards the other user's quota, and one confirmation of a call.
        case .ringing, .silenced, .answer, .confirm, .end: return nil
        case .offer, .ice, .connected, .update, .dtmf, .info:
            return limits.quotas.exhausted.isEmpty ? nil : quotaRefusal(of: user)
        }
    }

    private mutating func takeOrdinary(
        _ message: SignalMessage,
        from source: Source,
        _ peer: UserID?
    ) -> Result<Receipt, WireError> {
        switch message.content {
        case .end, .answer:
            if let receipt = receipt(ofAccepted: message, from: source, peer) { return .success(receipt) }
        case .offer, .ringing, .silenced, .ice, .connected, .update, .dtmf, .info, .confirm: break
        }
        if queries.decisions.isAnyOpen, let refusal = holdOrWithdraw(message, from: source, peer) {
            return .failure(refusal)
        }
        let call: Call?
        if let id = message.callID {
            // A sender that names the peer means the call with that peer, and not another one under the same callId.
            let said = (message.id, message.signal.kind, turn.now)
            call = calls.find(id, for: source.user, with: peer, on: source.device, said: said)
            if mayAwait, mustAwait(awaited(id, message, from: source, peer, besides: call)) {
                return .failure(Self.unknownCall)
            }
        } else if let peer {
            // If an earlier offer of the sender waits for a call at rest, this signal is for the call that the offer
            // will begin.
            if queries.hasParked, mustAwait(awaitedByOffer(from: source.user, to: peer)) {
                return .failure(Self.unknownCall)
            }
            call = calls.live(of: source.user, with: peer)
        } else {
            return .failure(.invalid(.callId, "missing"))
        }
        guard let call, let side = call.side(of: source.user) else {
            return refusal(of: message, from: source, peer)
        }
        return deliverSignal(message, to: call, side, from: source)
    }

    /// Returns the refusal of a signal whose sender cannot see the call.
    ///
    /// If a later call under the callId is hidden from the sender, a signal that names an earlier epoch is refused with
    /// `call_ended`, as if the later call were shown. A device that was pushed the earlier call then gives up, and
    /// learns nothing of the later one.
    private func refusal(of message: SignalMessage, from source: Source, _ peer: UserID?) -> Result<Receipt, WireError>
    {
        guard let id = message.callID, let peer, let hidden = calls[CallKey(id: id, pair: Pair(source.user, peer))]
        else { return .failure(Self.unknownCall) }
        guard let epoch = message.epoch, epoch < hidden.epoch else { return .failure(Self.unknownCall) }
        return .failure(.callEnded)
    }

    private mutating func deliverSignal(
        _ message: SignalMessage,
        to call: Call,
        _ side: Side,
        from source: Source
    ) -> Result<Receipt, WireError> {
        if message.lacksDescription, call.scheduled == nil { return .failure(.invalid(.sdp, "missing")) }
        // No two calls have the same description, so this answer is a late copy of the answer to the earlier call. An
        // app may answer by request and, once its connection is back, by connection too. By then the app may have hung
        // up, and its user may have been called again.
        if case .answer(let digest) = message.content, case .ringing = call.session.phase, message.epoch == nil,
            digest == call.earlierAnswer
        {
            return .success(Receipt(call: call, seq: 0))
        }
        let device = source.actingDevice(in: call, on: side)
        let signal = message.signal
        if mayRefuseSignals, let refusal = backlogRefusal(of: signal, for: call, from: side, device) {
            return .failure(refusal)
        }
        if signal.isOnlyRelayed {
            return relay(message, signal, to: call, from: side, device, encodedAs: source.sender)
        }
        let result = process(call, .signal(signal, from: side, device), relaying: message, from: source.sender)
        switch result {
        case .acknowledged(let seq, let isNew):
            if case .offer = message.content, side == .caller {
                if isNew { call.offerTransports = [] }
                call.offerTransports.insert(source.transport)
            }
            if !isNew, let refusal = refusalOfReusedID(message, seq, of: call) { return .failure(refusal) }
            if isNew { metrics.signals[signal.kind] += 1 }
            if isNew, case .silenced(let why) = signal.content { silenced(device.id, why, in: call) }
            if isNew, message.hadLowPriority { note(call, .pushLowered(device.id)) }
            if case .end = message.content {
                remember(message, seq, by: device, on: side, in: call)
                // A device that declines on its connection knows of the end. A request may come from another process of
                // the app, while the app's connection may be with an earlier owner of the calls.
                if source.transport == .connection, !CallResolution.isIn(call, source.user, device) {
                    process(call, .endDelivered(device, side))
                }
            }
            return .success(Receipt(call: call, seq: seq))
        case .refused(.callEnded) where takeLateConfirmation(signal, of: call, by: device):
            return .success(Receipt(call: call, seq: 0))
        case .refused(let refusal): return .failure(WireError(refusal))
        case .nothing: return .success(Receipt(call: call, seq: 0))
        }
    }

    /// Returns the refusal of a signal that reuses the `id` of an accepted one of its type with other content.
    ///
    /// It is no resend, and an ack would wrongly say that it was relayed.
    private func refusalOfReusedID(_ message: SignalMessage, _ seq: UInt64, of call: Call) -> WireError? {
        guard seq > 0, let index = call.session.log.lastIndex(where: { $0.seq == seq }), index < call.frames.count,
            !message.hasContent(of: call.frame(at: index))
        else { return nil }
        return .invalid(.id, "is that of another \(message.signal.kind.rawValue) of this call")
    }

    /// Relays a signal that changes nothing of its call but the log, and moves no deadline, as nearly all signals.
    private mutating func relay(
        _ message: SignalMessage,
        _ signal: Signal,
        to call: Call,
        from side: Side,
        _ device: DeviceIdentity,
        encodedAs sender: Sender?
    ) -> Result<Receipt, WireError> {
        if tracesCalls { traceInput(.signal(signal, from: side, device), of: call) }
        let result: Result<Receipt, WireError>
        do throws(CallSession.Unchanged) {
            let entry = try call.relay(signal, from: side, device, at: turn.now)
            let frame = RelayedSignal.frame(
                relaying: signal.kind,
                id: signal.id,
                at: call.position(of: entry),
                from: sender?.encoded(for: device.id) ?? EncodedSender(call.user(on: side), device.id),
                around: message.relayed
            )
            let seq = entry.seq
            // The entry does not change the call's course (``withholdIfNeeded(_:of:)``).
            if !policy.withholdsDecisions || !hasWithheldEntries(call) { show(entry, as: frame, of: call) }
            store(frame, of: consume entry, in: call, isLast: false, memberBytes: message.relayed.byteCount)
            metrics.signals[signal.kind] += 1
            result = .success(Receipt(call: call, seq: seq))
        } catch {
            switch error {
            case .repeated(let seq):
                result =
                    refusalOfReusedID(message, seq, of: call).map { .failure($0) }
                    ?? .success(Receipt(call: call, seq: seq))
            case .refused(let refusal):
                if tracesCalls { traceRefused(by: call) }
                result = .failure(WireError(refusal))
            }
        }
        if call.hasPolls { respondToPolls(of: call) }
        return result
    }

    private mutating func acceptOffer(
        _ offer: Offer,
        _ message: SignalMessage,
        from source: Source,
        _ named: UserID?
    ) -> Result<Receipt, WireError> {
        let found =
            message.callID.map { id in
                named.map { calls.newest(id, of: source.user, with: $0) } ?? call(ofOffer: id, from: source)
            } ?? begun(by: message, from: source, named)
        if let refusal = hold(message, from: source, to: named) { return .failure(refusal) }
        if found?.isLive != true, mustAwait(awaited(message, from: source, named, besides: found)) {
            keepDecision(on: message, from: source, to: named)
            return .failure(Self.unknownCall)
        }
        if let receipt = receipt(ofAccepted: message, from: source, named) { return .success(receipt) }
        let incoming = CallRouter.IncomingOffer(
            offer: offer,
            id: message.id,
            callID: message.callID,
            epoch: message.epoch,
            named: named,
            source: source
        )
        switch CallRouter.decide(incoming, about: found, at: turn.now) {
        case .refused(let error): return .failure(error)
        case .inCall(let meaning):
            guard let found, let side = found.side(of: source.user) else { return .failure(Self.unknownCall) }
            trace(found, .offer(meaning.word))
            return deliverSignal(message, to: found, side, from: source)
        case .lateCopy(let seq):
            guard let found else { return .failure(Self.unknownCall) }
            trace(found, .offer("late_copy"))
            found.offerTransports.insert(source.transport)
            return .success(Receipt(call: found, seq: seq))
        case .first(let callee), .replacement(let callee):
            if let key = unknownEpoch(message, from: source.user, to: callee), mustAwait([.epoch(key)]) {
                keepDecision(on: message, from: source, to: callee)
                return .failure(Self.unknownCall)
            }
            let replaces = found?.isLive == true
            trace(
                from: .calls,
                .begins(message.callID, replaces ? "replacement" : "first", from: source.user, to: callee)
            )
            return begin(offer, message, from: source, to: callee, replacing: replaces ? found : nil)
        }
    }

    /// Begins a user's call, unless a limit or the app's backend refuses it.
    private mutating func begin(
        _ offer: Offer,
        _ message: SignalMessage,
        from source: Source,
        to callee: UserID,
        replacing replaced: Call?
    ) -> Result<Receipt, WireError> {
        let keys = RingLimits.Keys(from: source.user, to: callee)
        let earlier = policy.decisions == nil ? nil : decision(on: message, from: source, to: callee)
        // Meanwhile other offers that waited may have rung.
        if let refusal = ringRefusal(of: source.user, to: callee, keys, message) { return .failure(refusal) }
        // An offer that has waited for a decision was counted when it came.
        if earlier == nil, !limits.calls.admit(source.user, at: turn.now) {
            return .failure(exceeded(.newCalls, "at most \(policy.callsPerMinute) new calls a minute"))
        }
        guard policy.decisions != nil else {
            if let replaced { process(replaced, .replaced) }
            let id = message.callID ?? makeCallID()
            return .success(beginCall(.byUser(keys), as: id, offer, message, from: source, to: callee))
        }
        switch gate(offer, message, from: source, to: callee, earlier) {
        case .refused(let error): return .failure(error)
        case .waits(let id):
            queries.awaited = [.decision(id)]
            return .failure(Self.unknownCall)
        case .begins(let decided):
            if let replaced { process(replaced, .replaced) }
            let id = message.callID ?? decided?.question.callID ?? makeCallID()
            var (offer, message) = (offer, message)
            decided?.change(&message, &offer)
            return .success(beginCall(.byUser(keys), as: id, offer, message, from: source, to: callee, decided))
        }
    }

    /// Returns what must be read before it is known which call an offer concerns.
    private func awaited(
        _ message: SignalMessage,
        from source: Source,
        _ named: UserID?,
        besides found: Call?
    ) -> [Awaited] {
        if let id = message.callID { return awaited(id, for: source.user, with: named, besides: found) }
        guard found == nil, let id = message.id else { return [] }
        return calls.callsAtRest(begunBy: source.user, source.device, offer: id).map(Awaited.call)
    }

    /// Records what the current signal must wait for; returns whether there is anything.
    private mutating func mustAwait(_ awaited: [Awaited]) -> Bool {
        guard !awaited.isEmpty else { return false }
        queries.awaited = awaited
        return true
    }

    /// Returns and clears what the current signal must wait for; `nil` = the signal need not wait.
    mutating func takeAwaited() -> [Awaited]? {
        guard !queries.awaited.isEmpty else { return nil }
        defer { queries.awaited = [] }
        return queries.awaited
    }

    /// Returns the call that a resent offer without a callId has begun; the offer's `id` identifies it.
    private func begun(by message: SignalMessage, from source: Source, _ named: UserID?) -> Call? {
        guard let id = message.id, let call = calls.begun(by: source.user, source.device, offer: id) else { return nil }
        return named.map { call.key.pair.contains($0) } ?? true ? call : nil
    }

}

extension WireError {
    /// The refusal of a signal for a call that has ended.
    fileprivate static let callEnded = WireError(CallSession.Refusal.callEnded)

    /// The error that a client is sent for a refusal of the call core.
    init(_ refusal: CallSession.Refusal) {
        switch refusal {
        case .alreadyAnswered: self.init(.alreadyAnswered, "the call is already answered")
        case .callEnded: self.init(.callEnded, "the call has ended")
        // This error differs from ``Switchboard/unknownCall``: only a sender who sees the call gets it, so it may say
        // that the epoch, and not the call, is unknown.
        case .unknownEpoch: self.init(.notFound, "epoch: unknown", field: Field.epoch.name)
        case .callExists: self.init(.callExists, "the other user has begun a call with this callId")
        case .forbidden(let why): self.init(.forbidden, why)
        case .logFull: self.init(.logFull, "the call's log is full")
        }
    }
}
