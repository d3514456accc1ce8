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

    private struct Direction: Hashable {
        let caller: UserID
        let callee: UserID
    }

    private struct Share {
        var bucket: TokenBucket
        var newest: CallNumber
        var refused = 0

        func isFull(at now: Moment) -> Bool {
            var bucket = bucket
            return bucket.isFull(at: now)
        }
    }

    private let perPair: Int
    private let perCallee: Int
    private var pairs: [Direction: Share] = [:]
    private var callees: [UserID: Share] = [:]

    init(_ policy: Policy) {
        perPair = policy.ringsPerPair
        perCallee = policy.ringsPerCallee
    }

    /// How many shares are being used.
    var count: Int { pairs.count + callees.count }

    /// The limit that a further ring would pass; `nil` = none.
    mutating func refusal(of caller: UserID, to callee: UserID, at now: Moment) -> Refusal? {
        if perPair > 0 {
            let refusal = Self.refusal(
                by: &pairs[Direction(caller: caller, callee: callee)],
                .ringsPerPair,
                perPair,
                at: now
            )
            if let refusal { return refusal }
        }
        return perCallee > 0 ? Self.refusal(by: &callees[callee], .ringsPerCallee, perCallee, at: now) : nil
    }

    private static func refusal(
        by share: inout Share?,
        _ limit: Metrics.Limited.Limit,
        _ perMinute: Int,
        at now: Moment
    ) -> Refusal? {
        guard share != nil, share?.bucket.isEmpty(at: now) == true else { return nil }
        share?.refused += 1
        return share.map {
            Refusal(
                limit: limit,
                perMinute: perMinute,
                retryAfterSeconds: $0.bucket.secondsUntilNext,
                newest: $0.newest,
                count: $0.refused
            )
        }
    }

    /// Takes note of a call that has begun.
    ///
    /// `rings`: Whether it reaches its callee. One that does not (a block, say) takes nothing from the callee's share: a
    /// blocked caller must not be able to use it up.
    mutating func began(_ call: Call, rings: Bool, at now: Moment) {
        if perPair > 0 {
            let direction = Direction(caller: call.session.caller, callee: call.session.callee)
            Self.take(from: &pairs[direction], perPair, call.number, at: now)
        }
        if perCallee > 0, rings { Self.take(from: &callees[call.session.callee], perCallee, call.number, at: now) }
    }

    private static func take(from share: inout Share?, _ perMinute: Int, _ number: CallNumber, at now: Moment) {
        var bucket = share?.bucket ?? TokenBucket(perMinute, in: .seconds(60), at: now)
        _ = bucket.take(at: now)
        share = Share(bucket: bucket, newest: number)
    }

    /// Forgets the shares of which all is left.
    mutating func forgetFull(at now: Moment) {
        pairs = pairs.filter { !$0.value.isFull(at: now) }
        callees = callees.filter { !$0.value.isFull(at: now) }
    }
}
