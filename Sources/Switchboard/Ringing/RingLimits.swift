import CallCore

/// The limits on how often a callee may be rung: by one caller, and by all callers together.
///
/// Each ring may push each device of the callee, and iOS withholds pushes from an app that gets too many.
struct RingLimits {
    /// The refusal of an offer that exceeds a limit.
    struct Refusal {
        let limit: Metrics.Limited.Limit
        /// The number of rings a minute that the limit allows.
        let perMinute: Int
        let retryAfterSeconds: Int
        /// The newest ring that the limit let through; its call's timeline reports the rings refused since.
        let newest: CallNumber
        /// The number of rings refused since.
        let count: Int
    }

    /// The keys of the two shares that a ring takes from, computed once for each offer.
    ///
    /// They are hashes, because ids would be hashed again at each look-up. Two keys that collide only share a limit.
    struct Keys {
        fileprivate let pair: Int
        fileprivate let callee: Int

        init(from caller: UserID, to callee: UserID) {
            var hasher = Hasher()
            hasher.combine(callee)
            var both = hasher
            both.combine(caller)
            self.callee = hasher.finalize()
            pair = both.finalize()
        }
    }

    private struct Allowance {
        var bucket: TokenBucket
        var newest: CallNumber
        var refused = 0

        /// The share after one more call has rung.
        init(_ share: Allowance?, _ perMinute: Int, newest: CallNumber, at now: Moment) {
            bucket = share?.bucket ?? TokenBucket(perMinute, in: .seconds(60), at: now)
            _ = bucket.take(at: now)
            self.newest = newest
        }

        func refusal(_ limit: Metrics.Limited.Limit, _ perMinute: Int) -> Refusal {
            Refusal(
                limit: limit,
                perMinute: perMinute,
                retryAfterSeconds: bucket.secondsUntilNext,
                newest: newest,
                count: refused
            )
        }

        func isFull(at now: Moment) -> Bool {
            var bucket = bucket
            return bucket.isFull(at: now)
        }
    }

    private let perPair: Int
    private let perCallee: Int
    private var pairs: [Int: Allowance] = [:]
    private var callees: [Int: Allowance] = [:]

    init(_ policy: Policy) {
        perPair = policy.ringsPerPair
        perCallee = policy.ringsPerCallee
    }

    /// The number of shares in memory.
    var count: Int { pairs.count + callees.count }

    /// Returns the limit that a further ring would exceed, and counts the refusal; `nil` = there is no such limit.
    mutating func refusal(of keys: Keys, at now: Moment) -> Refusal? {
        if perPair > 0, var share = pairs[keys.pair], share.bucket.isEmpty(at: now) {
            share.refused += 1
            pairs.updateValue(share, forKey: keys.pair)
            return share.refusal(.ringsPerPair, perPair)
        }
        if perCallee > 0, var share = callees[keys.callee], share.bucket.isEmpty(at: now) {
            share.refused += 1
            callees.updateValue(share, forKey: keys.callee)
            return share.refusal(.ringsPerCallee, perCallee)
        }
        return nil
    }

    /// Records a call that has begun.
    ///
    /// `rings`: Whether it reaches its callee. A call that does not, because of a block for instance, takes only from
    /// the pair's share: a blocked caller must not be able to use up the callee's share.
    mutating func began(_ call: CallNumber, _ keys: Keys, rings: Bool, at now: Moment) {
        if perPair > 0 {
            pairs.updateValue(Allowance(pairs[keys.pair], perPair, newest: call, at: now), forKey: keys.pair)
        }
        if perCallee > 0, rings {
            callees.updateValue(Allowance(callees[keys.callee], perCallee, newest: call, at: now), forKey: keys.callee)
        }
    }

    /// Forgets the shares that are full again.
    mutating func forgetFull(at now: Moment) {
        pairs = pairs.filter { !$0.value.isFull(at: now) }
        callees = callees.filter { !$0.value.isFull(at: now) }
    }
}
