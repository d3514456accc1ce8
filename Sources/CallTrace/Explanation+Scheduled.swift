import CallCore
import CallPorts
import CallWire
import PlainText

/// The calls that the server itself begins when a schedule is due.
extension Explanation {
    /// The outcome of a scheduled call that was not answered, with a reason that only such a call can have.
    var scheduledOutcome: String? {
        guard record.answeredAt == nil, let endedAt = record.endedAt, let scheduled = record.scheduled else {
            return nil
        }
        let hasRung = events.contains { $0.signal == .offer }
        switch record.reason {
        case .missed where !hasRung:
            return
                "The call was due at \(Timestamp.text(scheduled.occurrence)), and the server could not ring within 60 seconds: it was not running, or could not write its database."
        case .givenUp where !hasRung:
            return
                "The server could not ring again in time, because it was not running or could not write its database: \(record.callee.text) was given up."
        case .missed: return "Nobody answered within \(Self.seconds(record.ringUntil - record.startedAt))."
        case .givenUp:
            return "The last ring ended at \(offset(endedAt)), and \(record.callee.text) had not confirmed."
        case .confirmed: return "\(record.callee.text) confirmed at \(offset(endedAt)), without answering."
        case .cancelled:
            return "The schedule was removed \(Self.seconds(endedAt - record.startedAt)) after the ring began."
        default: return nil
        }
    }

    /// A sentence that says which ring of a schedule the call is; `nil` for an ordinary call.
    var scheduledSentence: String? {
        guard let scheduled = record.scheduled else { return nil }
        return
            "It is ring \(scheduled.ring) of the schedule \(scheduled.schedule.text), for \(Timestamp.text(scheduled.occurrence)): "
            + "the server itself called, and \(record.caller.text) is only a name."
    }
}
