import CallCore

/// How often a callee may be rung: by one caller, and by everybody.
///
/// Each ring may push each device of the callee, and iOS withholds pushes from an app that gets too many.
struct RingLimits {
    /// A limit that an offer met.
    struct Refusal {
        let limit: Metrics.Limited.Limit
        /// How many rings a minute it allows.
        let perMinute: Int
        let retryAfterSeconds: Int
        /// The newest ring that the limit let through: what was refused since is told in that call's timeline.
        let newest: CallNumber
        /// How many it has refused since.
        let count: Int
    }

    /// The keys of the two shares that a ring takes from, computed once for each offer.
    ///
    /// They are hashes, because ids would be hashed again at each look-up. Two that collide only share a limit.
    struct Keys {
        fileprivate let pair: Int
        fileprivate let callee: Int

        init(from caller: UserID, to callee: UserID) {
            var hasher = Hasher()
            hasher.combine(callee)
            self.callee = hasher.finalize()
            hasher.combine(caller)
            pair = hasher.finalize()
        }
    }

    private struct Share {
        var bucket: TokenBucket
        var newest: CallNumber
        var refused = 0

        /// The share once one more call has rung.
        init(_ share: Share?, _ perMinute: Int, newest: CallNumber, at now: Moment) {
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
    private var pairs: [Int: Share] = [:]
    private var callees: [Int: Share] = [:]

    init(_ policy: Policy) {
        perPair = policy.ringsPerPair
        perCallee = policy.ringsPerCallee
    }

    /// How many shares are kept.
    var count: Int { pairs.count + callees.count }

    /// The limit that a further ring would exceed, which counts the refusal; `nil` = none.
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

    /// Takes note of a call that has begun.
    ///
    /// `rings`: Whether it reaches its callee. One that does not (a block, say) takes from the pair's share, and
    /// nothing from the callee's: a blocked caller must not be able to use that up.
    mutating func began(_ call: CallNumber, _ keys: Keys, rings: Bool, at now: Moment) {
        if perPair > 0 {
            pairs.updateValue(Share(pairs[keys.pair], perPair, newest: call, at: now), forKey: keys.pair)
        }
        if perCallee > 0, rings {
            callees.updateValue(Share(callees[keys.callee], perCallee, newest: call, at: now), forKey: keys.callee)
        }
    }

    /// Forgets the shares that are full again.
    mutating func forgetFull(at now: Moment) {
        pairs = pairs.filter { !$0.value.isFull(at: now) }
        callees = callees.filter { !$0.value.isFull(at: now) }
    }
}
