package import CallCore

/// A rate limiter that allows a burst, and after it a fixed number per second.
package struct TokenBucket: Sendable {
    private let perSecond: Double
    private let burst: Double
    private var level: Double
    private var filledAt: Moment

    /// A full bucket, which holds `burst` tokens.
    package init(perSecond: Double, burst: Int, at now: Moment) {
        self.perSecond = perSecond
        self.burst = Double(burst)
        level = Double(burst)
        filledAt = now
    }

    /// A full bucket that allows `count` tokens in a duration, all of which may be taken in one burst.
    package init(_ count: Int, in duration: Moment.Duration, at now: Moment) {
        self.init(perSecond: Double(count) * 1_000 / Double(max(1, duration.milliseconds)), burst: count, at: now)
    }

    /// Takes one token and returns true, or returns false if the bucket is empty.
    package mutating func admit(at now: Moment) -> Bool {
        fill(at: now)
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    /// Takes `count` tokens, even if the bucket holds fewer; the level may become negative.
    package mutating func spend(_ count: Int, at now: Moment) {
        fill(at: now)
        level -= Double(count)
    }

    /// Whether the bucket holds less than one token.
    package mutating func isEmpty(at now: Moment) -> Bool {
        fill(at: now)
        return level < 1
    }

    /// The number of seconds, rounded up, from the last access until the bucket holds a token again; at least 1.
    package var secondsUntilNext: Int { max(1, Int(((1 - level) / perSecond).rounded(.up))) }

    /// Whether the bucket is full.
    ///
    /// A full bucket can be discarded.
    package mutating func isFull(at now: Moment) -> Bool {
        fill(at: now)
        return level >= burst
    }

    private mutating func fill(at now: Moment) {
        // A clock that was set back adds nothing and takes nothing.
        let elapsed = max(0, (now - filledAt).milliseconds)
        level = min(burst, level + Double(elapsed) / 1_000 * perSecond)
        filledAt = now
    }
}
