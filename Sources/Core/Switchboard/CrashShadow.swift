import CallCore

/// The unclean starts whose lost sequence numbers clients may still remember.
///
/// Entries that were relayed but not committed when the server died have used some `seq` values. A `seq` that a client
/// has seen is never given to another entry, so each unclean start makes `seq` skip the values that the crash may have
/// used.
struct CrashShadow {
    /// The number of unclean starts since the count was last 0, including this start if it is one.
    private(set) var uncleanStarts: Int
    /// The moment from which no device can still ring for a call that a crash lost completely.
    private let until: Moment

    /// `duration`: How long after the start a client may still remember a `seq` that the crash lost.
    init(uncleanStarts: Int, startedAt now: Moment, lasting duration: Moment.Duration) {
        self.uncleanStarts = uncleanStarts
        until = now + duration
    }

    /// Returns the first `seq` of a new log, which is above every `seq` that clients may have seen and a crash lost.
    func firstSeq(at now: Moment) -> UInt64 {
        guard uncleanStarts > 0, now < until else { return 1 }
        return 1 + UInt64(uncleanStarts) * CallCore.Limits.restartGap
    }

    /// Resets the count to 0 once the next start no longer needs it; returns whether it did so.
    ///
    /// The count is needed until every live call has an entry with a `seq` after the skipped ones, and until no device
    /// can still ring for a call that a crash lost completely.
    mutating func end(at now: Moment, calls: borrowing CallTable) -> Bool {
        guard uncleanStarts > 0, now >= until else { return false }
        var isSettled = true
        calls.forEachLive { if $0.session.hasGapAtEnd { isSettled = false } }
        guard isSettled else { return false }
        uncleanStarts = 0
        return true
    }
}

/// The precautions after a start: against the reuse of a `seq` that a crash lost, and against a wrong clock.
struct StartPrecautions {
    var crashShadow: CrashShadow
    /// Prevents a clock that may be wrong from deleting history.
    var historyHold: HistoryHold
    /// Prevents schedules from ringing while the date is uncertain.
    var dateHold: DateHold
}
