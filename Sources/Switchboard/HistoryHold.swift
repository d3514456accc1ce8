import CallCore

/// Decides whether the clock can be trusted with deleting history.
///
/// History that a wrong clock deletes is lost for good.
///
/// See Decision 0010.
struct HistoryHold {
    /// How long no history is deleted after a start: NTP often corrects a machine's clock soon after the machine
    /// started.
    static let afterStart = Moment.Span.seconds(600)
    /// How long no history is deleted after a start with a clock that is far from all stored records.
    static let afterOddStart = Moment.Span.seconds(3_600)
    /// The age of the newest record, or its distance into the future, from which the clock counts as far from the
    /// records.
    static let oddDistance = Moment.Span.seconds(86_400)
    /// How long no history is deleted after the wall clock agrees with the server's clock again.
    static let afterDoubt = Moment.Span.seconds(600)

    private var until: Moment
    private var isDoubted = false

    /// The age of the newest record if that makes the clock doubtful, otherwise `nil`; negative when the record is in
    /// the future.
    let oddAge: Moment.Span?

    /// The hold at a start; `newest` is the latest moment found in the store.
    init(startedAt now: Moment, newest: Moment?) {
        let isOdd = newest.map { $0 + Self.oddDistance < now || now + Self.oddDistance < $0 } ?? false
        oddAge = isOdd ? newest.map { now - $0 } : nil
        until = now + (isOdd ? Self.afterOddStart : Self.afterStart)
    }

    /// Whether history may be deleted.
    func allowsDeletion(at now: Moment) -> Bool { !isDoubted && now >= until }

    /// Records that the wall clock has jumped, or that it agrees with the server's clock again.
    mutating func doubt(_ isDoubted: Bool, at now: Moment) {
        if self.isDoubted, !isDoubted { until = max(until, now + Self.afterDoubt) }
        self.isDoubted = isDoubted
    }
}
