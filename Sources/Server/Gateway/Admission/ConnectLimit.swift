import CallCore
import CallPorts
import CallWire
import Switchboard
import Threads

/// The limit on how often each user may connect.
///
/// A connect, which is a new WebSocket or a new Socket.IO session of a user, costs a handshake, the verification of a
/// token and a replay. All loops share one limit, because a user's connections may arrive on any of them.
final class ConnectLimit: Sendable {
    private struct State {
        var buckets: [UserID: TokenBucket] = [:]
        var prunedAt = Moment(milliseconds: 0)
        var refused: UInt64 = 0
        var unjoined: UInt64 = 0
    }

    /// How often full buckets are removed.
    private static let pruneEvery = Moment.Duration.seconds(60)

    private let perMinute: Int
    private let state = Monitor(State())

    init(perMinute: Int) { self.perMinute = perMinute }

    /// The number of refused connects.
    var refused: UInt64 { state.withLock { $0.refused } }

    /// The number of Socket.IO sessions that were refused because their user had too many other sessions that had not
    /// joined, that is, sent CONNECT.
    var unjoined: UInt64 { state.withLock { $0.unjoined } }

    /// Counts one Socket.IO session that was refused because its user has too many other sessions that have not joined.
    func noteUnjoined() { state.withLock { $0.unjoined += 1 } }

    /// Counts a connect and returns why it is refused, or `nil` if it is allowed.
    ///
    /// A service acts for all users, so its connects are not limited.
    func refusal(of principal: Principal, at now: Moment) -> WireError? {
        principal.isService ? nil : refusal(of: principal.user, at: now)
    }

    /// Counts a connect of a user and returns why it is refused, or `nil` if it is allowed.
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
            let isTaken = bucket.admit(at: now)
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
