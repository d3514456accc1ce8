import CallCore
import CallPorts
import CallWire

/// The calls that the server itself begins when a schedule is due.
extension Explanation {
    /// The outcome of a scheduled call that was not answered, with a reason that only such a call can have.
    var scheduledOutcome: String? {
        guard record.answeredAt == nil, let endedAt = record.endedAt, let scheduled = record.scheduled else {
            return nil
        }
        if let skipped { return skippedOutcome(scheduled, skipped) }
        // A record of an earlier version does not say why.
        if !events.contains(where: { $0.signal == .offer }) { return "The server did not ring." }
        switch record.reason {
        case .missed: return "Nobody answered within \(Self.seconds(record.ringUntil - record.startedAt))."
        case .givenUp:
            return "The last ring ended at \(offset(endedAt)), and \(callee) had not confirmed."
        case .confirmed: return "\(callee) confirmed at \(offset(endedAt)), without answering."
        case .cancelled:
            return "The schedule was removed \(Self.seconds(endedAt - record.startedAt)) after the ring began."
        case .replaced: return "The schedule's next time came at \(offset(endedAt)), so this ring ended."
        case .busy:
            let who = callee + (ender?.device.map { "'s device \($0)" } ?? "")
            return "\(who) said at \(offset(endedAt)) that it is busy."
        default: return nil
        }
    }

    /// The reason why the ring did not begin; `nil` = it did.
    private var skipped: TimelineEvent.SkippedRing? {
        events.lazy.compactMap { if case .ringSkipped(let why) = $0.event { why } else { nil } }.first
    }

    private func skippedOutcome(_ call: ScheduledRing, _ why: TimelineEvent.SkippedRing) -> String {
        switch why {
        case .confirmed: return "\(callee) confirmed before ring \(call.ring) began, so it did not ring."
        case .limit:
            return
                "The server did not ring, because the schedules of \(callee) had rung too often (protocol, section 5.11)."
        case .quota:
            return "The server did not ring, because \(callee) had used up the bytes that are stored for a user a day "
                + "(protocol, section 8.5)."
        case .late:
            let due =
                call.ring == 1 ? "The call was due at \(Timestamp.text(call.occurrence))" : "Ring \(call.ring) was due"
            return "\(due), and the server could not ring within 60 seconds: it was not running, could not write its "
                + "database, or did not trust its clock."
        }
    }

    /// A sentence that says which ring of a schedule the call is, or would have been; `nil` for an ordinary call.
    var scheduledSentence: String? {
        guard let scheduled = record.scheduled else { return nil }
        if scheduled.ring == ScheduledRing.trial {
            return "It is a ring of the schedule \(scheduled.schedule.text) on trial: the server itself called, and "
                + "\(caller) is only a name."
        }
        let ring =
            "ring \(scheduled.ring) of the schedule \(scheduled.schedule.text), for \(Timestamp.text(scheduled.occurrence))"
        if skipped != nil { return "It stands for \(ring); \(caller) is only a name." }
        return "It is \(ring): the server itself called, and \(caller) is only a name."
    }
}
