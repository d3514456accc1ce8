extension CallSession {
    /// Appends a device's signal and acknowledges it.
    ///
    /// The signal must have no receipt yet (``receipt(of:_:from:_:)``).
    ///
    /// Returns `false` when the log is full; then nothing has changed.
    @discardableResult
    mutating func append(
        _ signal: Signal,
        digest: UInt64 = 0,
        from side: Side,
        _ device: DeviceIdentity,
        audience: LogEntry.Audience? = nil,
        at now: Moment,
        into outputs: inout [Output]
    ) -> Bool {
        // An `end` must always fit, like the server's own entries.
        guard signal.kind == .end || hasRoom(for: signal) else {
            outputs.append(.refuse(.logFull))
            return false
        }
        let entry = record(signal, digest: digest, from: side, device, audience: audience, at: now)
        outputs.append(.append(entry))
        outputs.append(.acknowledge(seq: entry.seq, isNew: true))
        return true
    }

    /// Appends a device's signal, for which the log has room, and returns the entry.
    mutating func record(
        _ signal: Signal,
        digest: UInt64 = 0,
        from side: Side,
        _ device: DeviceIdentity,
        audience: LogEntry.Audience? = nil,
        at now: Moment
    ) -> LogEntry {
        logBytes += signal.byteCount
        countEarly(signal.kind, byteCount: signal.byteCount)
        let entry = entry(of: signal, digest: digest, from: side, device, audience: audience, at: now)
        if let id = signal.id { receipts.add(entryAt: log.count, for: id) }
        log.append(entry)
        nextSeq += 1
        return entry
    }

    /// Returns the entry that `append` would add for a device's signal.
    public func entry(
        of signal: Signal,
        digest: UInt64 = 0,
        from side: Side,
        _ device: DeviceIdentity,
        audience: LogEntry.Audience? = nil,
        at now: Moment
    ) -> LogEntry {
        LogEntry(
            seq: nextSeq,
            at: now,
            content: .signal(signal.kind, from: side, device: device, id: signal.id, digest: digest),
            audience: audience ?? self.audience(ofSignalFrom: side)
        )
    }

    private func audience(ofSignalFrom side: Side) -> LogEntry.Audience {
        // Nobody is on the caller's side of a scheduled call.
        if side == .callee { return scheduled == nil ? .caller : .nobody }
        return isHidden ? .nobody : .callee
    }

    func hasRoom(for signal: Signal) -> Bool {
        guard log.count < Limits.logSignals, logBytes + signal.byteCount <= Limits.logBytes else { return false }
        guard isLimitedEarly(signal.kind) else { return true }
        return earlySignals < Limits.earlySignals && earlyBytes + signal.byteCount <= Limits.earlyBytes
    }

    /// Returns whether the limits before the answer apply to a signal of this kind now.
    ///
    /// The offer that begins the call does not count. A caller must not be able to fill the log so that `ringing` and
    /// `answer` no longer fit.
    private func isLimitedEarly(_ kind: SignalKind) -> Bool {
        guard case .ringing = phase, !log.isEmpty else { return false }
        switch kind {
        case .offer, .ice, .connected, .update, .dtmf, .info: return true
        case .ringing, .answer, .end: return false
        }
    }

    /// Counts a signal that is about to be logged, if the limits before the answer apply to it.
    mutating func countEarly(_ kind: SignalKind, byteCount: Int) {
        guard isLimitedEarly(kind) else { return }
        earlySignals += 1
        earlyBytes += byteCount
    }

    /// Appends a change of state.
    mutating func append(
        _ change: StateChange,
        to audience: LogEntry.Audience,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        let entry = LogEntry(seq: nextSeq, at: now, content: .state(change), audience: audience)
        log.append(entry)
        nextSeq += 1
        outputs.append(.append(entry))
    }

    /// Returns whether a signal of this type with this `id` was accepted from a device before.
    public func hasAccepted(_ id: SignalID, _ kind: SignalKind, from device: DeviceIdentity, on side: Side) -> Bool {
        receipt(of: id, kind, from: side, device) != nil
    }

    /// Returns the `seq` under which a signal of this type with this `id` was accepted from a device before; `nil` if it
    /// was not.
    ///
    /// One token stands for one device. A signal that a device with an id sent on its connection may come again in a
    /// request under the same token that names no device, and the other way round.
    func receipt(of id: SignalID, _ kind: SignalKind, from side: Side, _ device: DeviceIdentity) -> UInt64? {
        if let seq = receipts[id, kind, side, device.id, in: log] { return seq }
        // The legs are read in place: a copy of each costs more than the comparison.
        for index in legs.indices
        where legs[index].side == side && legs[index].device.fingerprint == device.fingerprint
            && legs[index].device.id != device.id && legs[index].device.isSame(as: device)
        {
            if let seq = receipts[id, kind, side, legs[index].device.id, in: log] { return seq }
        }
        return nil
    }

    /// Acknowledges a repeat of a signal that was accepted before; the repeat may have another `id`.
    mutating func acknowledgeAgain(
        _ signal: Signal,
        from side: Side,
        _ device: DeviceIdentity,
        seq: UInt64,
        into outputs: inout [Output]
    ) {
        // The number of receipts is limited, like the log, so that a client that invents ids for one signal cannot fill
        // the memory.
        if let id = signal.id, receipts.count < 2 * Limits.logSignals {
            receipts.set(seq, for: id, signal.kind, from: side, device.id, in: log)
        }
        outputs.append(.acknowledge(seq: seq, isNew: false))
    }

    /// Returns whether an entry concerns a device, in the present phase of the call.
    ///
    /// If another device of the callee answered, a device sees only that the call ended for it, and nothing of the
    /// answered call.
    @inlinable @inline(__always)
    public func sees(_ entry: LogEntry, side: Side, device: DeviceIdentity) -> Bool {
        switch (entry.audience, side) {
        case (.nobody, _): false
        case (.caller, .caller), (.both, .caller), (.callerAnd, .caller): isCaller(device)
        case (.callee, .caller), (.calleeExcept, .caller), (.caller, .callee): false
        case (.callerAnd(let one), .callee): one.isSame(as: device)
        // The entry has the answering device as it was at the answer; the device may have another token by now.
        case (.calleeExcept(let one), .callee): !(answeringDevice ?? one).isSame(as: device)
        case (.callee, .callee), (.both, .callee): !isHidden && (answeringDevice.map { $0.isSame(as: device) } ?? true)
        }
    }

    /// Returns the state of the call as one device sees it: a device that lost the call sees an ended call.
    public func visibleState(side: Side, device: DeviceIdentity) -> (state: CallState, reason: EndReason?) {
        let ending: Ending?
        switch phase {
        case .ended(let end, _): ending = end
        case .ringing, .answered, .active: ending = nil
        }
        if side == .callee {
            if let answeringDevice, !answeringDevice.isSame(as: device) { return (.ended, .answeredElsewhere) }
            if let decliner = ending?.declinedBy, !decliner.isSame(as: device) { return (.ended, .declinedElsewhere) }
        }
        return (state, ending?.reason)
    }
}
