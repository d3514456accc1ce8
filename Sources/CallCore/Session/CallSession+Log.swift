extension CallSession {
    /// Appends a device's signal and acknowledges it; `false` when the log is full, and then nothing changed.
    @discardableResult
    mutating func append(
        _ signal: Signal,
        digest: UInt64 = 0,
        from side: Side,
        _ phone: Phone,
        audience: LogEntry.Audience? = nil,
        at now: Moment,
        into outputs: inout [Output]
    ) -> Bool {
        // An end, like the server's own entries, must always fit.
        guard signal.kind == .end || hasRoom(for: signal) else {
            outputs.append(.refuse(.logFull))
            return false
        }
        logBytes += signal.byteCount
        countEarly(signal.kind, byteCount: signal.byteCount)
        let entry = entry(of: signal, digest: digest, from: side, phone, audience: audience, at: now)
        if let id = signal.id { receipts[SignalName(side: side, device: phone.id, id: id)] = entry.seq }
        log.append(entry)
        nextSeq += 1
        outputs.append(.append(entry))
        outputs.append(.acknowledge(seq: entry.seq, isNew: true))
        return true
    }

    /// The entry that a device's signal would be.
    public func entry(
        of signal: Signal,
        digest: UInt64 = 0,
        from side: Side,
        _ phone: Phone,
        audience: LogEntry.Audience? = nil,
        at now: Moment
    ) -> LogEntry {
        LogEntry(
            seq: nextSeq,
            at: now,
            content: .signal(signal.kind, from: side, phone: phone, id: signal.id, digest: digest),
            audience: audience ?? (side == .callee ? .caller : isHidden ? .nobody : .callee)
        )
    }

    private func hasRoom(for signal: Signal) -> Bool {
        guard log.count < Limits.logSignals, logBytes + signal.byteCount <= Limits.logBytes else { return false }
        guard isLimitedEarly(signal.kind) else { return true }
        return earlySignals < Limits.earlySignals && earlyBytes + signal.byteCount <= Limits.earlyBytes
    }

    /// Whether the limits before the answer hold for a signal of this kind now.
    ///
    /// The offer that begins the call is apart. A caller must not be able to fill the log against the ringing and the answer.
    private func isLimitedEarly(_ kind: SignalKind) -> Bool {
        guard case .ringing = phase, !log.isEmpty else { return false }
        switch kind {
        case .offer, .ice, .connected, .update, .dtmf, .info: return true
        case .ringing, .answer, .end: return false
        }
    }

    /// Counts a signal that is about to be logged.
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

    /// Whether a signal of that name was taken from a device before.
    public func hasTaken(_ id: SignalID, from phone: Phone, on side: Side) -> Bool {
        receipt(of: id, from: side, phone) != nil
    }

    /// The number under which a signal of that name was taken from a device before.
    ///
    /// One token is one phone: what a named device sent by its socket may come again by a request that names none, and
    /// the other way round.
    func receipt(of id: SignalID, from side: Side, _ phone: Phone) -> UInt64? {
        if let seq = receipts[SignalName(side: side, device: phone.id, id: id)] { return seq }
        for leg in legs where leg.side == side && leg.phone.id != phone.id && leg.phone.isSame(as: phone) {
            if let seq = receipts[SignalName(side: side, device: leg.phone.id, id: id)] { return seq }
        }
        return nil
    }

    /// Acknowledges what was taken before, now perhaps under another name.
    mutating func acknowledgeAgain(
        _ signal: Signal,
        from side: Side,
        _ phone: Phone,
        seq: UInt64,
        into outputs: inout [Output]
    ) {
        // Bounded like the log: a client that invents names for one signal does not fill the memory.
        if let id = signal.id, receipts.count < 2 * Limits.logSignals {
            receipts[SignalName(side: side, device: phone.id, id: id)] = seq
        }
        outputs.append(.acknowledge(seq: seq, isNew: false))
    }

    /// Whether an entry concerns a device, as things stand now.
    ///
    /// A device of the callee that did not answer sees nothing of the answered leg, only the call's end for it.
    @inlinable
    public func sees(_ entry: LogEntry, side: Side, phone: Phone) -> Bool {
        switch (entry.audience, side) {
        case (.nobody, _): false
        case (.caller, .caller), (.both, .caller), (.callerAnd, .caller): isCaller(phone)
        case (.callee, .caller), (.calleeBut, .caller), (.caller, .callee): false
        case (.callerAnd(let one), .callee): one.isSame(as: phone)
        // The device that has the call may be known by another token by now than when it answered.
        case (.calleeBut(let one), .callee): !(winner ?? one).isSame(as: phone)
        case (.callee, .callee), (.both, .callee): !isHidden && (winner.map { $0.isSame(as: phone) } ?? true)
        }
    }

    /// How the call stands for one device: one that lost it sees it ended.
    public func standing(side: Side, phone: Phone) -> (state: CallState, reason: EndReason?) {
        let ending: Ending?
        switch phase {
        case .ended(let end, _): ending = end
        case .ringing, .answered, .active: ending = nil
        }
        if side == .callee {
            if let winner, !winner.isSame(as: phone) { return (.ended, .answeredElsewhere) }
            if let decliner = ending?.declinedBy, !decliner.isSame(as: phone) { return (.ended, .declinedElsewhere) }
        }
        return (state, ending?.reason)
    }
}
