public import CallCore

/// So many at once, so many a second after that.
public struct TokenBucket: Sendable {
    private let perSecond: Double
    private let burst: Double
    private var level: Double
    private var filledAt: Moment

    /// A full bucket.
    public init(perSecond: Double, burst: Int, at now: Moment) {
        self.perSecond = perSecond
        self.burst = Double(burst)
        level = Double(burst)
        filledAt = now
    }

    /// A full bucket of so many in a span, all of which may come at once.
    public init(_ count: Int, in span: Moment.Span, at now: Moment) {
        self.init(perSecond: Double(count) * 1_000 / Double(max(1, span.milliseconds)), burst: count, at: now)
    }

    /// Takes one, if there is one.
    public mutating func take(at now: Moment) -> Bool {
        fill(at: now)
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    /// Takes as many as were used, be it more than there are.
    public mutating func spend(_ count: Int, at now: Moment) {
        fill(at: now)
        level -= Double(count)
    }

    /// Whether there is none now.
    public mutating func isEmpty(at now: Moment) -> Bool {
        fill(at: now)
        return level < 1
    }

    /// After how many whole seconds there will be one again.
    public var secondsUntilNext: Int { max(1, Int(((1 - level) / perSecond).rounded(.up))) }

    /// Whether it holds all it can: then it can be forgotten.
    public mutating func isFull(at now: Moment) -> Bool {
        fill(at: now)
        return level >= burst
    }

    private mutating func fill(at now: Moment) {
        // A clock that was set back gives nothing and takes nothing.
        let elapsed = max(0, (now - filledAt).milliseconds)
        level = min(burst, level + Double(elapsed) / 1_000 * perSecond)
        filledAt = now
    }
}
