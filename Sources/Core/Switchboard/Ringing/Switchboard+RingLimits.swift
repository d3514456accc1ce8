import CallCore
import CallPorts
import CallWire

/// The limits on how often one caller, and all callers together, may ring a callee's devices.
extension Switchboard {
    /// Returns why a caller may not ring a callee now; `nil` = it may.
    mutating func ringRefusal(
        of caller: UserID,
        to callee: UserID,
        _ keys: RingLimits.Keys,
        _ offer: SignalMessage
    ) -> WireError? {
        guard let refusal = limits.rings.refusal(of: keys, at: turn.now) else { return nil }
        note(refusal, of: caller, to: callee, offer)
        let whose = refusal.limit == .ringsPerPair ? "from one caller to one callee" : "from all callers to one callee"
        return exceeded(
            refusal.limit,
            "at most \(refusal.perMinute) rings a minute \(whose)",
            retryAfterSeconds: refusal.retryAfterSeconds
        )
    }

    /// Reports a refused ring in the timeline of the last call that the limit let through.
    ///
    /// The first refusal is reported, and then each doubling of the number of refusals, so that a flood of rings writes
    /// little. A call at rest is not loaded for this: then only the metric counts the refusal.
    private mutating func note(
        _ refusal: RingLimits.Refusal,
        of caller: UserID,
        to callee: UserID,
        _ offer: SignalMessage
    ) {
        guard refusal.count & (refusal.count - 1) == 0, let call = calls[refusal.newest] else { return }
        // The callee must not be told of a caller that the callee has blocked.
        let isHidden =
            isNumberBlocked(in: offer, of: caller, by: callee)
            || directory.reasonToHide(caller, from: callee, at: turn.date) != nil
        guard call.hidden != nil || !isHidden else { return }
        let limit: TimelineEvent.RingLimit = refusal.limit == .ringsPerPair ? .perPair : .perCallee
        note(call, .ringRefused(limit, from: caller, count: refusal.count))
    }

    /// Ends the call by which a caller rings a callee, because the caller's newer call is about to ring the same
    /// callee.
    ///
    /// A caller rings a callee with one call at a time. Otherwise a caller could ring one callee with many calls at the
    /// same time.
    mutating func replaceRinging(from caller: UserID, to callee: UserID, by id: CallID) {
        for call in calls.live(of: caller) where call.callee == callee && call.key.id != id {
            guard case .ringing = call.session.phase, call.caller == caller else { continue }
            process(call, .gaveWay(to: id))
        }
    }

    /// Whether the largest allowed number of other callers already ring the callee, so that this call may not.
    func hasTooManyCallers(_ callee: UserID, at call: Call) -> Bool {
        let live = calls.live(of: callee)
        guard live.count > policy.callersPerCallee else { return false }
        var callers: Set<UserID> = []
        for other in live
        where other.callee == callee && other.hidden == nil && other.scheduled == nil && other !== call {
            if case .ringing = other.session.phase { callers.insert(other.caller) }
        }
        return callers.count >= policy.callersPerCallee
    }

    /// Records that a call was refused because too many other callers ring its callee.
    mutating func noteTooManyCallers(in call: Call) {
        metrics.limited[.tooManyCallers] += 1
        note(call, .tooManyCallers)
    }
}
