/// Measures how long the database has not confirmed a transaction: beyond a limit, it is stalled.
///
/// The count goes on when a connection is lost and another one is opened. It ends when the lease has run out, at the
/// latest: other nodes claim when the owner reports a stalled store and the lease has run out.
struct StallClock {
    private let stall: Duration
    private let lease: Duration
    /// When the newest transaction was sent that the database has confirmed; each one renews the lease.
    private var confirmedAt: ContinuousClock.Instant
    /// Since when a transaction has waited for its confirmation; `nil` = none waits.
    private var waitingSince: ContinuousClock.Instant?

    /// Creates a clock; the lease was renewed at `now`.
    init(stallMilliseconds: Int64, leaseMilliseconds: Int64, at now: ContinuousClock.Instant) {
        stall = .milliseconds(stallMilliseconds)
        lease = .milliseconds(leaseMilliseconds)
        confirmedAt = now
    }

    /// Records that a transaction has to be carried out.
    mutating func begin(at now: ContinuousClock.Instant) { waitingSince = waitingSince ?? now }

    /// Records that the database has confirmed a transaction that was sent at `sent`.
    mutating func confirm(sentAt sent: ContinuousClock.Instant) {
        confirmedAt = sent
        waitingSince = nil
    }

    /// Whether the database is stalled.
    func isLate(at now: ContinuousClock.Instant) -> Bool {
        guard let waitingSince else { return false }
        return now - waitingSince >= stall || now - confirmedAt >= max(stall, lease)
    }
}
