import CallCore
import CallPorts

/// Decides whether the clock can be trusted with deleting history, and schedules of one date.
///
/// A deletion by a wrong clock cannot be undone.
///
/// See Decision 0010.
struct HistoryHold {
    private var until: Moment
    private var isClockDoubtful = false

    /// The age of the newest record if that makes the clock doubtful, otherwise `nil`; negative when the record is in
    /// the future.
    let oddAge: Moment.Duration?

    /// The hold at a start; `newest` is the newest moment in the store (``StoredState/newestMoment``).
    init(startedAt now: Moment, newest: Moment?) {
        let isOdd =
            newest.map { $0 + SwitchboardLimits.oddDistance < now || now + SwitchboardLimits.oddDistance < $0 } ?? false
        oddAge = isOdd ? newest.map { now - $0 } : nil
        until = now + (isOdd ? SwitchboardLimits.historyHeldAfterOddStart : SwitchboardLimits.historyHeldAfterStart)
    }

    /// Whether the newest record was long ago at the start, so that the clock may be far ahead.
    var clockMayBeAhead: Bool { oddAge.map { $0 > .milliseconds(0) } ?? false }

    /// Whether history may be deleted.
    func allowsDeletion(at now: Moment) -> Bool { !isClockDoubtful && now >= until }

    /// Records that the wall clock has jumped, or that it agrees with the server's clock again.
    mutating func setClockDoubtful(_ isDoubtful: Bool, at now: Moment) {
        if self.isClockDoubtful, !isDoubtful { until = max(until, now + SwitchboardLimits.historyHeldAfterDoubt) }
        self.isClockDoubtful = isDoubtful
    }
}

extension StoredState {
    /// The newest moment that was recorded when something happened: a device's sign of life, the beginning of a call, or
    /// the making of a schedule or a block; `nil` = there is none.
    var newestMoment: Moment? {
        let calls = [lastCallAt].compactMap(\.self)
        return [devices.map(\.seenAt), calls, schedules.map(\.createdAt), blocks.map(\.at)].compactMap { $0.max() }
            .max()
    }
}
