import CallCore
import CallWire
import Switchboard
import Threads

/// How often each user may connect: a connect costs a handshake, the check of a token and a replay.
///
/// One for all loops, because a user's connections may come to any of them.
final class ConnectLimit: Sendable {
    private struct State {
        var buckets: [UserID: TokenBucket] = [:]
        var prunedAt = Moment(milliseconds: 0)
        var refused: UInt64 = 0
        var unjoined: UInt64 = 0
    }

    /// How often full buckets are forgotten.
    private static let pruneEvery = Moment.Span.seconds(60)

    private let perMinute: Int
    private let state = Locked(State())

    init(perMinute: Int) { self.perMinute = perMinute }

    /// How many connects were refused.
    var refused: UInt64 { state.withLock { $0.refused } }

    /// How many Socket.IO sessions were refused beside too many of their user's that had not joined.
    var unjoined: UInt64 { state.withLock { $0.unjoined } }

    /// Counts one of those.
    func noteUnjoined() { state.withLock { $0.unjoined += 1 } }

    /// Counts a connect; why it is refused, or `nil`.
    ///
    /// A service acts for everybody: its rate is its own affair.
    func refusal(of who: Who, at now: Moment) -> WireError? {
        who.isService ? nil : refusal(of: who.user, at: now)
    }

    /// Counts a connect of a user; why it is refused, or `nil`.
    func refusal(of user: UserID, at now: Moment) -> WireError? {
        let seconds: Int? = state.withLock { state in
            if now >= state.prunedAt + Self.pruneEvery {
                state.prunedAt = now
                state.buckets = state.buckets.filter { _, bucket in
                    var bucket = bucket
                    return !bucket.isFull(at: now)
                }
            }
            var bucket = state.buckets[user] ?? TokenBucket(perMinute, in: .seconds(60), at: now)
            let isTaken = bucket.take(at: now)
            state.buckets[user] = bucket
            guard !isTaken else { return nil }
            state.refused += 1
            return bucket.secondsUntilNext
        }
        guard let seconds else { return nil }
        var error = WireError(.rateLimited, "at most \(perMinute) connections a minute")
        error.retryAfterSeconds = seconds
        return error
    }
}
