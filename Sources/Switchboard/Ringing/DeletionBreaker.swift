import CallCore

/// Stops the deletion of push tokens when APNs refuses so many of them that the fault must be on the server's side
/// (protocol, section 6.4).
///
/// A wrong key, topic or environment would otherwise empty the whole directory in a minute.
struct DeletionBreaker {
    private var windowStart = Moment(milliseconds: 0)
    private var died = 0
    private var took = 0
    private var openUntil: Moment?

    /// Whether deletion is stopped.
    func isOpen(at now: Moment) -> Bool { openUntil.map { now < $0 } ?? false }

    /// Records a push that was accepted.
    mutating func accepted(at now: Moment) {
        turn(at: now)
        took += 1
    }

    /// Records a dead push token; returns whether it may be deleted.
    mutating func mayDelete(at now: Moment) -> Bool {
        turn(at: now)
        died += 1
        if died >= SwitchboardLimits.deadTokens, died > 2 * took { openUntil = now + SwitchboardLimits.deletionPause }
        return !isOpen(at: now)
    }

    private mutating func turn(at now: Moment) {
        guard now >= windowStart + SwitchboardLimits.deadTokenWindow else { return }
        windowStart = now
        died = 0
        took = 0
    }
}
