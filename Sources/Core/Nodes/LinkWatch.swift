package import CallCore

/// The pings on one side of a link, and its silence.
///
/// Both sides ping, so that each notices the other's silence by itself.
package struct LinkWatch: Sendable {
    /// The effects of a watch.
    package enum Effect: Equatable, Sendable {
        /// Send a ping with this number.
        case ping(UInt64)
        /// The link is dead: close it.
        case dead
    }

    private var lastHeard: Moment
    private var nextPing: Moment
    private var pings: UInt64 = 0

    /// Watches a link that was opened at a moment.
    package init(at now: Moment) {
        lastHeard = now
        nextPing = now + NodeLimits.linkPing
    }

    /// The next deadline of ``check(at:)``.
    package var deadline: Moment { min(nextPing, lastHeard + NodeLimits.linkSilence) }

    /// Records that bytes arrived.
    package mutating func heard(at now: Moment) { lastHeard = max(lastHeard, now) }

    /// Returns what is due.
    ///
    /// A node that stood still first reads what has arrived, and then calls this: the other side's bytes were waiting,
    /// and it is not the other side that was silent.
    package mutating func check(at now: Moment) -> Effect? {
        guard now - lastHeard < NodeLimits.linkSilence else { return .dead }
        guard nextPing <= now else { return nil }
        nextPing = now + NodeLimits.linkPing
        pings += 1
        return .ping(pings)
    }
}
