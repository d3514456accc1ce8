import CallCore

/// Whether the clock is to be trusted with deleting history: what is deleted by a wrong clock does not come back.
///
/// See Decision 0010.
struct HistoryHold {
    /// A start deletes nothing for so long: NTP often corrects a machine's clock soon after it was started.
    static let afterStart = Moment.Span.seconds(600)
    /// A start whose clock is far from all that is kept deletes nothing for so long.
    static let afterOddStart = Moment.Span.seconds(3_600)
    /// A clock counts as far from what is kept when the newest record is so old, or so far ahead.
    static let oddDistance = Moment.Span.seconds(86_400)
    /// Nothing is deleted for so long once the wall clock has agreed with the server's again.
    static let afterDoubt = Moment.Span.seconds(600)

    private var until: Moment
    private var isDoubted = false

    /// The age of the newest record, where that makes the clock doubtful; negative when the record is ahead.
    let oddAge: Moment.Span?

    /// At a start; `newest` is the latest moment in what is kept.
    init(startedAt now: Moment, newest: Moment?) {
        let isOdd = newest.map { $0 + Self.oddDistance < now || now + Self.oddDistance < $0 } ?? false
        oddAge = isOdd ? newest.map { now - $0 } : nil
        until = now + (isOdd ? Self.afterOddStart : Self.afterStart)
    }

    /// Whether history may be deleted.
    func allowsDeletion(at now: Moment) -> Bool { !isDoubted && now >= until }

    /// The wall clock has leapt, or agrees again.
    mutating func doubt(_ isDoubted: Bool, at now: Moment) {
        if self.isDoubted, !isDoubted { until = max(until, now + Self.afterDoubt) }
        self.isDoubted = isDoubted
    }
}
