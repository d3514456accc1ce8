import CallCore

/// The limits on how often a callee may be rung: by one caller, and by all callers together.
///
/// Each ring may cause a push to each device of the callee, and iOS withholds pushes from an app that gets too many.
struct RingLimits {
    /// The refusal of an offer that exceeds a limit.
    struct Refusal {
        let limit: Metrics.Limited.Limit
        /// The number of rings a minute that the limit allows.
        let perMinute: Int
        let retryAfterSeconds: Int
        /// The call of the newest ring that the limit let through; its timeline reports the rings refused since.
        let newest: CallNumber
        /// The number of rings that the limit has refused since `newest`, including this one.
        let count: Int
    }

    /// The keys of the two allowances that a ring uses, the pair's and the callee's; computed once for each offer.
    ///
    /// The keys are hashes, because ids would be hashed again at each look-up. Two pairs, or callees, with the same
    /// hash only share one allowance.
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

    /// The rings that one limit still allows for one pair or one callee.
    private struct Allowance {
        var bucket: TokenBucket
        var newest: CallNumber
        var refused = 0

        /// The allowance after one more ring; `share` is the allowance before, `nil` = a full one.
        init(_ share: Allowance?, _ perMinute: Int, newest: CallNumber, at now: Moment) {
            bucket = share?.bucket ?? TokenBucket(perMinute, in: .seconds(60), at: now)
            _ = bucket.admit(at: now)
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

    /// The number of allowances in memory.
    var count: Int { pairs.count + callees.count }

    /// Returns the refusal of a further ring that would exceed a limit, and counts it; `nil` = no limit is exceeded.
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
    /// `rings`: Whether the call reaches its callee. A call that does not, because of a block for instance, uses only
    /// the pair's allowance: a blocked caller must not be able to use up the callee's allowance.
    mutating func began(_ call: CallNumber, _ keys: Keys, rings: Bool, at now: Moment) {
        if perPair > 0 {
            pairs.updateValue(Allowance(pairs[keys.pair], perPair, newest: call, at: now), forKey: keys.pair)
        }
        if perCallee > 0, rings {
            callees.updateValue(Allowance(callees[keys.callee], perCallee, newest: call, at: now), forKey: keys.callee)
        }
    }

    /// Forgets the allowances that are full again.
    mutating func forgetFull(at now: Moment) {
        pairs = pairs.filter { !$0.value.isFull(at: now) }
        callees = callees.filter { !$0.value.isFull(at: now) }
    }
}
