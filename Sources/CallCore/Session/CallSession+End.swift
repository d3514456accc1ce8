extension CallSession {
    /// One side ends the call, or a device that is not in it says so once more.
    mutating func takeEnd(
        _ wish: EndReason?,
        _ signal: Signal,
        from side: Side,
        _ phone: Phone,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        switch phase {
        case .ringing:
            let reason = Self.reason(wish, by: side, answered: false)
            append(signal, from: side, phone, at: now, into: &outputs)
            if side == .callee, let index = legIndex(of: phone, joining: .callee) { legs[index].phase = .left }
            end(reason, by: side == .callee ? phone : nil, at: now, into: &outputs)
        case .answered(let winner), .active(let winner):
            guard side == .caller ? isCaller(phone) : winner.isSame(as: phone) else {
                // A device that is not in the call is done with it; a late decline never ends an answered call.
                leave(phone, side, into: &outputs)
                outputs.append(.acknowledge(seq: 0, isNew: false))
                return
            }
            append(signal, from: side, phone, at: now, into: &outputs)
            end(Self.reason(wish, by: side, answered: true), by: nil, at: now, into: &outputs)
        case .ended:
            if side == .callee, let winner, !winner.isSame(as: phone) {
                outputs.append(.acknowledge(seq: 0, isNew: false))
            } else {
                outputs.append(.refuse(.callEnded))
            }
        }
    }

    /// The reason that is told: the sender's, where it fits its role and the phase (protocol, section 9).
    static func reason(_ wish: EndReason?, by side: Side, answered: Bool) -> EndReason {
        switch (wish, side, answered) {
        case (.failed, _, _): .failed
        case (_, _, true): .hangup
        case (_, .caller, false): .cancelled
        case (.busy, .callee, false): .busy
        case (_, .callee, false): .declined
        }
    }

    /// Ends the call for everybody, each device told the reason that holds for it.
    mutating func end(
        _ reason: EndReason,
        by decliner: Phone?,
        replacedBy: CallID? = nil,
        at now: Moment,
        into outputs: inout [Output]
    ) {
        let winner = winner
        let wasRinging = winner == nil
        phase = .ended(
            Ending(reason: reason, at: now, replacedBy: replacedBy, declinedBy: decliner),
            answeredBy: winner
        )
        unansweredOffers = []
        if wasRinging { outputs.append(.stopRinging) }
        for index in legs.indices where legs[index].phase != .left { legs[index].phase = .untold }
        let change = StateChange(.ended, reason: reason, answeredBy: winner, replacedBy: replacedBy)
        if let decliner, wasRinging {
            append(change, to: .callerAnd(decliner), at: now, into: &outputs)
            if legs.contains(where: { $0.side == .callee && !$0.phone.isSame(as: decliner) }) {
                append(
                    StateChange(.ended, reason: .declinedElsewhere),
                    to: .calleeBut(decliner),
                    at: now,
                    into: &outputs
                )
            }
        } else {
            append(change, to: isUnseenByCallee ? .caller : .both, at: now, into: &outputs)
        }
        outputs.append(.changed)
    }

    /// Whether the callee was never told of the call: it is hidden, or lost a glare at once.
    private var isUnseenByCallee: Bool {
        isHidden || !legs.contains { $0.side == .callee } && log.first?.audience == .nobody
    }
}
