import CallCore
import CallWire

/// The limits of one user: ends without effect, and kept bytes.
extension Switchboard {
    // MARK: Ends

    /// Whether an end may come now.
    ///
    /// One that ends a call always may: there are no more of them than calls. Others have a rate of their own.
    func mayEnd(_ message: SignalMessage, by user: UserID, _ phone: Phone, at now: Moment) -> Bool {
        let full = TokenBucket(perSecond: Double(policy.endsPerSecond), burst: policy.endBurst, at: now)
        if endBuckets[user, default: full].take(at: now) || endsCall(message, by: user, phone) { return true }
        metrics.limited[.ends] += 1
        return false
    }

    /// Whether an end is of a call that goes on for its sender.
    private func endsCall(_ message: SignalMessage, by user: UserID, _ phone: Phone) -> Bool {
        guard let id = message.callID else { return false }
        guard let call = calls.find(id, for: user, with: message.to), let side = call.session.side(of: user) else {
            return false
        }
        let standing = call.session.standing(side: side, phone: call.session.standIn(for: phone, on: side))
        return standing.state != .ended
    }

    // MARK: Kept bytes

    /// What a row of the database costs besides its text, in bytes.
    private static let rowBytes = 128
    /// How much a call gathers before it is counted: counting each signal would cost the relaying.
    private static let countedEvery = 4_096

    /// Counts bytes that are kept for the user on a side of a call.
    @inline(__always)
    func countKept(_ bytes: Int, of call: Call, by side: Side, at now: Moment) {
        switch side {
        case .caller: call.uncounted.caller &+= bytes &+ Self.rowBytes
        case .callee: call.uncounted.callee &+= bytes &+ Self.rowBytes
        }
        if call.uncounted.caller &+ call.uncounted.callee > Self.countedEvery || !call.session.isLive {
            countKept(of: call, at: now)
        }
    }

    private func countKept(of call: Call, at now: Moment) {
        for (user, bytes) in [
            (call.session.caller, call.uncounted.caller), (call.session.callee, call.uncounted.callee),
        ]
        where bytes > 0 {
            let full = TokenBucket(policy.keptBytesPerDay, in: .seconds(86_400), at: now)
            keptBuckets[user, default: full].spend(bytes, at: now)
            if keptBuckets[user]?.isEmpty(at: now) == true { overQuota.insert(user) }
        }
        call.uncounted = (0, 0)
    }

    /// Why nothing more is kept for a user; `nil` = it is.
    func quotaRefusal(of user: UserID, at now: Moment) -> WireError? {
        guard overQuota.contains(user), var bucket = keptBuckets[user] else { return nil }
        guard bucket.isEmpty(at: now) else {
            overQuota.remove(user)
            return nil
        }
        metrics.limited[.keptBytes] += 1
        var error = WireError(.rateLimited, "at most \(policy.keptBytesPerDay) bytes a day are kept for a user")
        error.retryAfterSeconds = bucket.secondsUntilNext
        return error
    }
}
