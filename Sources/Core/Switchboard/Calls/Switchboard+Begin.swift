import CallCore
import CallPorts
import CallWire

/// How a call begins: its epoch, the devices that receive it, and the calls with which it is in glare.
extension Switchboard {
    /// Begins a call with its first offer, under a callId that no live call of its two users has.
    mutating func beginCall(
        _ beginning: Beginning,
        as id: CallID,
        _ offer: Offer,
        _ message: SignalMessage,
        from source: Source,
        to callee: UserID,
        _ decided: CallDecisions.Decided? = nil
    ) -> Receipt {
        let key = CallKey(id: id, pair: Pair(source.user, callee))
        let older = calls[key]
        let (number, epoch) = numberCall(key, after: older)
        if beginning.isByUser { makeWay(from: source.user, to: callee, as: id, after: older) }
        let hidden =
            reasonToHide(id, beginning, of: source.user, from: callee, message)
            ?? (decided?.hides == true ? .app : nil)
        // To its caller, a call that is hidden because its callId is taken looks like any other call.
        let looksShown = hidden == nil || hidden == .callIDTaken
        let isBusy = looksShown && isInCall(callee)
        let session = CallSession(
            number: number,
            key: key,
            epoch: epoch,
            caller: source.user,
            device: source.device,
            offer: offer,
            isHidden: hidden != nil,
            scheduled: beginning.scheduledCall,
            grace: policy.grace,
            firstSeq: precautions.crashShadow.firstSeq(at: turn.now),
            at: turn.now
        )
        let call = makeCall(session, beginning, message, from: source, to: callee, hidden, isBusy, after: older)
        calls.insert(call)
        if appEvents.areWanted { call.events = CallEvents() }
        if beginning.isByUser, hidden != .app { noteContact(source.user, callee) }
        turn.out.append(.note(.began(id, epoch: epoch)))

        // A scheduled call has no calling user, so it competes with no other.
        let competes = looksShown && beginning.isByUser
        let opposingCalls = competes ? opposingCalls(of: call) : []
        let outcome = CallRouter.startOutcome(
            id,
            hidden: hidden,
            isBusy: competes && isBusy && policy.whenBusy == .busy,
            hasTooManyCallers: competes && opposingCalls.isEmpty && hasTooManyCallers(callee, at: call),
            opposingCalls: opposingCalls.map(\.key.id)
        )
        trace(call, .began(outcome.word))
        var receipt = start(call, message, from: source, reachesCallee: outcome == .rings)
        receipt.madeCallID = message.callID == nil
        if let decided { note(call, decided.event) }
        note(beginning, of: call, rings: outcome == .rings)
        carryOut(outcome, of: call, opposing: opposingCalls)
        return receipt
    }

    /// Lets earlier calls make way for a user's call: the older one under its callId, unless a device has yet to be
    /// notified of its end, and the ringing one to the same callee.
    private mutating func makeWay(from caller: UserID, to callee: UserID, as id: CallID, after older: Call?) {
        // An older call with such a device stays in memory without its callId until it can no longer be fetched.
        if let older, !hasWithheldEntries(older), !older.session.legs.contains(where: { $0.phase == .endNotDelivered })
        {
            forget(older)
        }
        replaceRinging(from: caller, to: callee, by: id)
    }

    /// Makes a call of an offer; `older` = the previous call under its callId between the same users.
    ///
    /// Inlined, because it runs once for each call.
    @inline(__always)
    private func makeCall(
        _ session: CallSession,
        _ beginning: Beginning,
        _ message: SignalMessage,
        from source: Source,
        to callee: UserID,
        _ hidden: CallRecord.Hidden?,
        _ isBusy: Bool,
        after older: Call?
    ) -> Call {
        let room = message.room ?? Room.name(caller: source.user, callee: callee)
        switch beginning {
        case .byUser:
            let call = Call(
                session: session,
                room: room,
                displayName: message.displayName,
                hidden: hidden,
                isWaiting: isBusy && policy.whenBusy == .waiting
            )
            call.offerTransports.insert(source.transport)
            call.earlierAnswer = older?.session.lastDescription(.answer, from: .callee)?.digest
            call.acceptedSignals = AcceptedSignals(before: older, since: turn.now - policy.fetchableFor)
            return call
        case .bySchedule(let record, let ring, _):
            return Call(
                session: session,
                room: room,
                displayName: record.shownName,
                hidden: hidden,
                isWaiting: isBusy,
                scheduled: ring
            )
        }
    }

    /// Records that a call has begun: a user's for the limits on rings, a schedule's in the timeline.
    private mutating func note(_ beginning: Beginning, of call: Call, rings: Bool) {
        switch beginning {
        case .byUser(let keys): limits.rings.began(call.number, keys, rings: rings, at: turn.now)
        case .bySchedule(_, let ring, _):
            metrics.scheduledRings += 1
            note(call, ring.event)
        }
        noteHidden(call)
    }

    /// Rings the callee of a call that has begun, or ends a call at once.
    private mutating func carryOut(_ outcome: CallRouter.StartOutcome, of call: Call, opposing: [Call]) {
        switch outcome {
        case .tooManyCallers:
            noteTooManyCallers(in: call)
            process(call, .foundBusy)
        case .busy: process(call, .foundBusy)
        case .lostGlare(let winner): process(call, .lostGlare(to: winner))
        case .hidden: break
        case .rings:
            for rival in opposing { process(rival, .lostGlare(to: call.key.id)) }
            if hasWithheldEntries(call) { call.ringsWhenShown = true } else { ring(call) }
        }
        reschedule(call)
    }

    private mutating func start(
        _ call: Call,
        _ message: SignalMessage,
        from source: Source,
        reachesCallee: Bool
    ) -> Receipt {
        var outputs: [CallSession.Output] = []
        swap(&outputs, &turn.steps)
        // The devices that receive the call on their connection become its legs before its first entry is sent.
        if reachesCallee {
            for connection in connections.of(call.callee) {
                call.handle(.notified(connection.device), at: turn.now, into: &outputs)
            }
        }
        call.beginSession(with: message.signal, reachesCallee: reachesCallee, at: turn.now, into: &outputs)
        let result = perform(&outputs, of: call, relaying: message, from: source.sender)
        swap(&outputs, &turn.steps)
        calls.recordFirstOffer(of: call)
        metrics.signals[.offer] += 1
        guard case .acknowledged(let seq, _) = result else { return Receipt(call: call, seq: 0) }
        return Receipt(call: call, seq: seq)
    }

    /// Returns the ringing calls of the callee to the caller.
    private func opposingCalls(of call: Call) -> [Call] {
        calls.live(of: call.callee).filter { other in
            guard case .ringing = other.session.phase, other !== call else { return false }
            return other.caller == call.callee && other.callee == call.caller
                && other.hidden == nil
        }
    }

    func isInCall(_ user: UserID) -> Bool {
        calls.live(of: user).contains { $0.session.answeredAt != nil }
    }

    mutating func makeCallID() -> CallID {
        var bytes: [UInt8] = []
        for word in [ports.random.next(), ports.random.next()] {
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        guard let id = CallID(UUIDv5.text(bytes)) else { preconditionFailure("a UUID is a call id") }
        return id
    }
}
