import CallCore
import CallPorts
import CallWire

/// How a call begins: its epoch, the devices that receive it, and the calls with which it is in glare.
extension Switchboard {
    mutating func begin(
        _ offer: Offer,
        _ message: SignalMessage,
        from source: Source,
        to callee: UserID,
        _ keys: RingLimits.Keys
    ) -> Receipt {
        let now = turn.now
        let id = message.callID ?? makeCallID()
        let key = CallKey(id: id, pair: Pair(source.user, callee))
        let older = calls[key]
        let epoch = directory.nextEpoch(of: key, after: older?.epoch, at: now)
        // If a device has not yet been notified of the older call's end, the older call stays in memory without its
        // callId until it can no longer be fetched.
        if let older, !hasWithheldEntries(older), !older.session.legs.contains(where: { $0.phase == .endNotDelivered })
        {
            forget(older)
        }
        replaceRinging(from: source.user, to: callee, by: id)
        let hidden = reasonToHide(id, of: source.user, from: callee, message)
        // To its caller, a call that is hidden because its callId is taken looks like any other call.
        let looksShown = hidden == nil || hidden == .callIDTaken
        let isBusy = looksShown && isInCall(callee)
        let call = makeCall(key, epoch: epoch, offer, message, from: source, to: callee, hidden, isBusy, after: older)
        calls.insert(call)
        noteContact(source.user, callee)
        metrics.callsBegun += 1
        turn.out.append(.note(.began(id, epoch: epoch)))

        let opposingCalls = looksShown ? opposingCalls(of: call) : []
        let beginning = CallRouter.begin(
            id,
            hidden: hidden,
            isBusy: isBusy && policy.whenBusy == .busy,
            hasTooManyCallers: looksShown && opposingCalls.isEmpty && hasTooManyCallers(callee, at: call),
            opposingCalls: opposingCalls.map(\.key.id)
        )
        trace(call, .began(beginning.word))
        let receipt = start(call, message, from: source, reachesCallee: beginning == .rings)
        noteHidden(call)
        limits.rings.began(call.number, keys, rings: beginning == .rings, at: now)
        switch beginning {
        case .tooManyCallers:
            noteTooManyCallers(in: call)
            process(call, .foundBusy)
        case .busy: process(call, .foundBusy)
        case .lostGlare(let winner): process(call, .lostGlare(to: winner))
        case .hidden: break
        case .rings:
            for rival in opposingCalls { process(rival, .lostGlare(to: id)) }
            if hasWithheldEntries(call) { call.ringsWhenShown = true } else { ring(call) }
        }
        reschedule(call)
        var result = receipt
        result.madeCallID = message.callID == nil
        return result
    }

    /// Makes a call of an offer; `older` = the previous call under its callId between the same users.
    ///
    /// Inlined, because it runs once for each call.
    @inline(__always)
    private mutating func makeCall(
        _ key: CallKey,
        epoch: UInt32,
        _ offer: Offer,
        _ message: SignalMessage,
        from source: Source,
        to callee: UserID,
        _ hidden: CallRecord.Hidden?,
        _ isBusy: Bool,
        after older: Call?
    ) -> Call {
        let now = turn.now
        let session = CallSession(
            number: calls.makeNumber(),
            key: key,
            epoch: epoch,
            caller: source.user,
            device: source.device,
            offer: offer,
            isHidden: hidden != nil,
            grace: policy.grace,
            firstSeq: precautions.crashShadow.firstSeq(at: now),
            at: now
        )
        let call = Call(
            session: session,
            room: message.room ?? Room.name(caller: source.user, callee: callee),
            displayName: message.displayName,
            hidden: hidden,
            isWaiting: isBusy && policy.whenBusy == .waiting
        )
        call.offerTransports.insert(source.transport)
        call.earlierAnswer = older?.session.lastDescription(.answer, from: .callee)?.digest
        call.acceptedSignals = AcceptedSignals(
            before: older,
            since: now - policy.fetchableFor
        )
        return call
    }

    mutating func start(
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
        call.begin(with: message.signal, reachesCallee: reachesCallee, at: turn.now, into: &outputs)
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
