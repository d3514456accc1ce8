extension CallSession {
    /// Handles one signal: refuses it without changing anything, acknowledges it as a repeat, or accepts it.
    mutating func take(
        _ signal: Signal,
        from side: Side,
        _ device: DeviceIdentity,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        if signal.isOnlyRelayed {
            do throws(Unchanged) {
                let entry = try relay(signal, from: side, device, at: now)
                outputs.append(.append(entry))
                outputs.append(.acknowledge(seq: entry.seq, isNew: true))
            } catch {
                outputs.append(Output(error))
            }
            return
        }
        if let result = resultWithoutChange(of: signal, from: side, device) {
            outputs.append(Output(result))
            return
        }
        if case .end(let reason) = signal.content {
            takeEnd(reason, signal, from: side, device, at: now, into: &outputs)
            return
        }
        guard isLive else {
            outputs.append(.refuse(.callEnded))
            return
        }
        if case .offer(let offer) = signal.content {
            takeOffer(offer, signal, from: side, device, at: now, into: &outputs)
            return
        }
        if let refusal = refusal(of: signal, from: side, device) {
            outputs.append(.refuse(refusal))
            return
        }
        switch signal.content {
        case .offer, .end: break
        case .ringing: takeRinging(signal, device, at: now, into: &outputs)
        case .silenced: takeSilenced(signal, device, into: &outputs)
        case .answer(let digest): takeAnswer(digest, signal, from: side, device, at: now, into: &outputs)
        case .connected: takeConnected(signal, from: side, device, at: now, into: &outputs)
        case .update(let update):
            guard append(signal, from: side, device, at: now, into: &outputs) else { return }
            if side == .caller { callerMedia.apply(update) } else { calleeMedia.apply(update) }
            outputs.append(.changed)
        case .confirm:
            guard append(signal, from: side, device, at: now, into: &outputs) else { return }
            end(.confirmed, by: nil, at: now, into: &outputs)
        case .ice, .dtmf, .info: break
        }
    }

    /// Handles a signal that is only relayed (``Signal/isOnlyRelayed``).
    ///
    /// Nearly all signals are of this kind, so their result is no list of outputs.
    ///
    /// Returns the new entry, which must be stored and sent to its audience.
    public mutating func relay(
        _ signal: Signal,
        from side: Side,
        _ device: DeviceIdentity,
        at now: Moment
    ) throws(Unchanged) -> LogEntry {
        if let result = resultWithoutChange(of: signal, from: side, device) { throw result }
        guard isLive else { throw .refused(.callEnded) }
        if let refusal = refusal(of: signal, from: side, device) { throw .refused(refusal) }
        guard hasRoom(for: signal) else { throw .refused(.logFull) }
        return record(signal, from: side, device, at: now)
    }

    /// The result of a signal that changes nothing.
    public enum Unchanged: Error, Equatable, Sendable {
        /// The signal was accepted before, and its entry has this `seq`.
        case repeated(seq: UInt64)
        /// The signal was refused.
        case refused(Refusal)
    }

    /// Returns the result of a signal that was accepted before or belongs to another epoch; `nil` for any other signal.
    private func resultWithoutChange(of signal: Signal, from side: Side, _ device: DeviceIdentity) -> Unchanged? {
        if let id = signal.id, let seq = receipt(of: id, signal.kind, from: side, device) {
            return .repeated(seq: seq)
        }
        if let epoch = signal.epoch, epoch != self.epoch {
            return .refused(epoch < self.epoch ? .callEnded : .unknownEpoch)
        }
        return nil
    }

    /// Returns why a device may not send a signal, other than an offer or an `end`, in the present phase.
    private func refusal(of signal: Signal, from side: Side, _ device: DeviceIdentity) -> Refusal? {
        if case .confirm = signal.content, scheduled == nil { return .forbidden("only a scheduled call is confirmed") }
        switch side {
        case .caller:
            if !isCaller(device) { return .forbidden("another of your devices is making this call") }
            if signal.kind == .ringing { return .forbidden("only the callee's devices send ringing") }
        case .callee:
            if let answeringDevice, !answeringDevice.isSame(as: device) { return .alreadyAnswered }
        }
        return nil
    }

    /// Handles a `ringing`: a device of the callee alerts its user.
    ///
    /// A repeated `ringing` changes nothing.
    private mutating func takeRinging(
        _ signal: Signal,
        _ device: DeviceIdentity,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        guard case .ringing = phase else {
            // The `ringing` was sent before its device knew of the answer, and has no meaning any more.
            outputs.append(.acknowledge(seq: 0, isNew: false))
            return
        }
        let index = legIndex(of: device, joining: .callee)
        if let index, legs[index].phase == .ringing {
            outputs.append(.acknowledge(seq: lastSeq(of: .ringing, from: device), isNew: false))
            return
        }
        guard append(signal, from: .callee, device, at: now, into: &outputs) else { return }
        if let index { legs[index].phase = .ringing }
        outputs.append(.changed)
    }

    /// Handles the report of a device of the callee that its system does not show the call.
    ///
    /// It needs no entry, because it concerns nobody but the server: the caller must learn nothing of the callee's
    /// devices, and the other devices ring on. A repeated report changes nothing.
    private mutating func takeSilenced(_ signal: Signal, _ device: DeviceIdentity, into outputs: inout [Output]) {
        guard case .ringing = phase, let index = legIndex(of: device, joining: .callee),
            legs[index].phase != .silenced
        else {
            outputs.append(.acknowledge(seq: 0, isNew: false))
            return
        }
        legs[index].phase = .silenced
        if let id = signal.id, receipts.count < 2 * Limits.logSignals {
            receipts.add(0, for: id, signal.kind, from: .callee, device.id)
        }
        outputs.append(.acknowledge(seq: 0, isNew: true))
        outputs.append(.changed)
    }

    /// Handles an answer.
    ///
    /// The device that sends the first answer gets the call. In a renegotiation, either side answers the other side's
    /// offer.
    private mutating func takeAnswer(
        _ digest: UInt64,
        _ signal: Signal,
        from side: Side,
        _ device: DeviceIdentity,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        if case .ringing = phase {
            guard side == .callee else {
                outputs.append(.refuse(.forbidden("only the callee answers")))
                return
            }
            guard append(signal, digest: digest, from: side, device, at: now, into: &outputs) else { return }
            answered(by: device, at: now, into: &outputs)
            return
        }
        // A side's newest answer that comes again, with the same description, is a repeat, on whatever transport it
        // comes.
        if let earlier = lastDescription(.answer, from: side), earlier.digest == digest,
            !unansweredOffers.contains(side.other)
        {
            acknowledgeAgain(signal, from: side, device, seq: earlier.seq, into: &outputs)
            return
        }
        guard unansweredOffers.contains(side.other) else {
            outputs.append(.refuse(.alreadyAnswered))
            return
        }
        guard append(signal, digest: digest, from: side, device, at: now, into: &outputs) else { return }
        // If both sides renegotiate at the same time, the callee is the polite side: its answer withdraws its own
        // offer.
        unansweredOffers.remove(side.other)
        if side == .callee { unansweredOffers.remove(.callee) }
    }

    private mutating func answered(by device: DeviceIdentity, at now: Moment, into outputs: inout [Output]) {
        if let index = legIndex(of: device, joining: .callee) {
            legs[index].device = device
            legs[index].phase = .answered
            legs[index].goneSince = nil
        }
        phase = .answered(by: device)
        answeredAt = now
        let others = legs.indices.filter { legs[$0].side == .callee && !legs[$0].device.isSame(as: device) }
        outputs.append(.stopRinging)
        append(StateChange(.answered, answeredBy: device), to: .both, at: now, into: &outputs)
        if !others.isEmpty {
            for index in others where legs[index].phase != .left { legs[index].phase = .endNotDelivered }
            append(
                StateChange(.ended, reason: .answeredElsewhere, answeredBy: device),
                to: .calleeExcept(device),
                at: now,
                into: &outputs
            )
        }
        outputs.append(.changed)
        if let early = connectedEarly, early.isSame(as: device) { becomeActive(with: device, at: now, into: &outputs) }
    }

    private mutating func takeConnected(
        _ signal: Signal,
        from side: Side,
        _ device: DeviceIdentity,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        guard append(signal, from: side, device, at: now, into: &outputs) else { return }
        switch phase {
        case .ringing: if side == .callee { connectedEarly = device }
        case .answered(let answeringDevice): becomeActive(with: answeringDevice, at: now, into: &outputs)
        case .active, .ended: break
        }
    }

    private mutating func becomeActive(
        with answeringDevice: DeviceIdentity,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        phase = .active(with: answeringDevice)
        activeAt = now
        append(StateChange(.active, answeredBy: answeringDevice), to: .both, at: now, into: &outputs)
        outputs.append(.changed)
    }
}

extension CallSession.Output {
    fileprivate init(_ result: CallSession.Unchanged) {
        switch result {
        case .repeated(let seq): self = .acknowledge(seq: seq, isNew: false)
        case .refused(let refusal): self = .refuse(refusal)
        }
    }
}
