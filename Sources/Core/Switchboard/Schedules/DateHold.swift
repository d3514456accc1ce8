import CallCore

/// Prevents schedules from ringing while the date is uncertain.
///
/// It is uncertain for a minute after a start whose clock is behind a stored moment, and after a leap of the wall clock
/// until that has been steady for a minute. Calls that become due meanwhile begin later, and the wait does not count as
/// lateness.
///
/// The type counts by the server's clock. See Decision 0010.
struct DateHold {
    private var hold: (since: Moment, until: Moment)?
    /// The end of the hold that the start caused; `nil` = it caused none.
    private let heldAtStartUntil: Moment?
    private let newest: Moment?
    private var isSteady = true
    /// Whether the stored schedules must be planned when the start's hold has ended.
    var awaitsPlan = false
    /// The end of the last hold, and how long it was.
    private var lastHold: (end: Moment, length: Moment.Duration)?

    /// The hold at a start; `newest` is the newest moment in the store (``StoredState/newestMoment``).
    init(startedAt now: Moment, newest: Moment?) {
        self.newest = newest
        // Either the clock is behind now, or it was ahead before.
        guard let newest, now + SwitchboardLimits.oddFuture < newest else {
            heldAtStartUntil = nil
            return
        }
        let until = now + SwitchboardLimits.datesHeldAfterOddStart
        heldAtStartUntil = until
        hold = (now, until)
        awaitsPlan = true
    }

    /// Records whether the date can be relied on.
    mutating func setSteady(_ isSteady: Bool, at now: Moment) {
        guard self.isSteady != isSteady else { return }
        self.isSteady = isSteady
        if isSteady {
            hold?.until = max(now, heldAtStartUntil ?? now)
        } else {
            // A wall clock that leaps to and fro must not silence schedules for ever.
            hold = (hold?.since ?? now, now + SwitchboardLimits.datesHeldAfterLeap)
        }
    }

    /// The end of the hold; `nil` = there is none.
    var until: Moment? { hold?.until }

    /// Ends a hold whose end has come.
    mutating func end(at now: Moment) {
        guard let hold, hold.until <= now else { return }
        lastHold = (now, now - hold.since)
        self.hold = nil
    }

    /// Whether a date can be the true one: it is not before the store's newest moment at the start.
    func isPossible(_ date: Moment) -> Bool { newest.map { $0 <= date + SwitchboardLimits.oddFuture } ?? true }

    /// Returns by how much a schedule's call may be late now: more than usual just after a hold.
    func lateness(at now: Moment) -> Moment.Duration {
        let late = SwitchboardLimits.scheduleLateness
        guard let lastHold, now < lastHold.end + late else { return late }
        return .milliseconds(late.milliseconds + lastHold.length.milliseconds)
    }
}
