import CallCore
import CallWire

/// The rates and quotas that each user has, with one sweep for all of them.
struct RateLimits {
    /// The calls that a user begins.
    var calls: UserRate
    /// The requests that a user makes over HTTP, except ends.
    var requests: UserRate
    /// The pushes that a user's texts cause: texts may make devices sound as often as calls may make them ring.
    var notices: UserRate
    /// The ends that a user sends and that end no call.
    var ends: UserRate
    /// The numbers that a user blocks: each leaves a row for weeks, also if it is unblocked again.
    var numberBlocks: UserRate
    /// The pages of the call directory that a user reads: one may cost the store as much as a hundred other requests.
    var directoryPages: UserRate
    /// The rings of a user's schedules.
    var scheduledRings: UserRate
    /// The bytes that are stored for a user.
    var quotas: StorageQuotas
    /// The rings of a callee, by one caller and by all callers together.
    var rings: RingLimits

    init(_ policy: Policy) {
        let calls = UserRate(perSecond: Double(policy.callsPerMinute) / 60, burst: policy.callsPerMinute)
        self.calls = calls
        notices = calls
        requests = UserRate(perSecond: Double(policy.signalsPerSecond), burst: policy.signalBurst)
        ends = UserRate(perSecond: Double(policy.endsPerSecond), burst: policy.endBurst)
        numberBlocks = UserRate(
            perSecond: SwitchboardLimits.numberBlocksPerSecond,
            burst: policy.blockedNumbersPerUser
        )
        directoryPages = UserRate(
            perSecond: SwitchboardLimits.directoryPagesPerSecond,
            burst: SwitchboardLimits.directoryPageBurst
        )
        scheduledRings = UserRate(perSecond: Double(policy.callsPerMinute) / 60, burst: policy.schedulesPerUser)
        quotas = StorageQuotas(bytesPerDay: policy.storedBytesPerDay)
        rings = RingLimits(policy)
    }

    /// Forgets the users whose limits have fully refilled.
    mutating func forgetFull(at now: Moment) {
        calls.forgetFull(at: now)
        requests.forgetFull(at: now)
        notices.forgetFull(at: now)
        ends.forgetFull(at: now)
        numberBlocks.forgetFull(at: now)
        directoryPages.forgetFull(at: now)
        scheduledRings.forgetFull(at: now)
        quotas.forgetFull(at: now)
        rings.forgetFull(at: now)
    }
}

extension Switchboard {
    /// Counts that a limit was exceeded; returns the error to send.
    mutating func exceeded(_ limit: Metrics.Limited.Limit, _ rule: String, retryAfterSeconds: Int? = nil) -> WireError {
        metrics.limited[limit] += 1
        var error = WireError(.rateLimited, rule)
        if let retryAfterSeconds { error.retryAfterSeconds = retryAfterSeconds }
        return error
    }
}

/// A rate that holds for each user separately.
struct UserRate {
    private let perSecond: Double
    private let burst: Int
    private var buckets: [UserID: TokenBucket] = [:]

    /// A rate of `perSecond` on average; `burst` may come at once.
    init(perSecond: Double, burst: Int) {
        self.perSecond = perSecond
        self.burst = burst
    }

    /// The number of users in memory.
    var count: Int { buckets.count }

    /// Counts one event of a user; returns whether it is within the rate.
    mutating func admit(_ user: UserID, at now: Moment) -> Bool {
        buckets[user, default: TokenBucket(perSecond: perSecond, burst: burst, at: now)].admit(at: now)
    }

    /// Counts further events of a user, also beyond the rate.
    mutating func spend(_ count: Int, _ user: UserID, at now: Moment) {
        guard count > 0 else { return }
        buckets[user, default: TokenBucket(perSecond: perSecond, burst: burst, at: now)].spend(count, at: now)
    }

    /// Forgets the users whose bucket is full.
    mutating func forgetFull(at now: Moment) { buckets.forgetFull(at: now) }
}

/// The quota of stored bytes that each user has for a day.
///
/// Bytes are counted after they were stored, so a quota may be overdrawn. The user is then refused until the quota has
/// refilled.
struct StorageQuotas {
    private let bytesPerDay: Int
    private var buckets: [UserID: TokenBucket] = [:]
    /// The users whose quota is used up.
    private(set) var exhausted: Set<UserID> = []

    init(bytesPerDay: Int) { self.bytesPerDay = bytesPerDay }

    /// The number of users in memory.
    var count: Int { buckets.count }

    /// Counts bytes that are stored for a user.
    mutating func spend(_ bytes: Int, for user: UserID, at now: Moment) {
        guard bytes > 0 else { return }
        func spend(from bucket: inout TokenBucket) -> Bool {
            bucket.spend(bytes, at: now)
            return bucket.isEmpty(at: now)
        }
        let isEmpty = spend(from: &buckets[user, default: TokenBucket(bytesPerDay, in: .seconds(86_400), at: now)])
        if isEmpty { exhausted.insert(user) }
    }

    /// Returns the number of seconds until a user's quota allows a byte again; `nil` = the quota is not used up.
    mutating func secondsUntilRefill(of user: UserID, at now: Moment) -> Int? {
        guard exhausted.contains(user), var bucket = buckets[user] else { return nil }
        guard bucket.isEmpty(at: now) else {
            exhausted.remove(user)
            return nil
        }
        return bucket.secondsUntilNext
    }

    /// Forgets the users whose quota is full.
    ///
    /// It also removes from `exhausted` the users whose quota allows a byte again, even if they have requested nothing.
    mutating func forgetFull(at now: Moment) {
        buckets.forgetFull(at: now)
        guard !exhausted.isEmpty else { return }
        exhausted = exhausted.filter { user in
            var bucket = buckets[user]
            return bucket?.isEmpty(at: now) ?? false
        }
    }
}

extension [UserID: TokenBucket] {
    fileprivate mutating func forgetFull(at now: Moment) {
        self = filter { _, bucket in
            var bucket = bucket
            return !bucket.isFull(at: now)
        }
    }
}
