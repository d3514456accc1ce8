import CallCore

/// Stops the deletion of push tokens when the push services refuse so many of them that the fault must be on the server's side
/// (protocol, section 6.4).
///
/// Otherwise a wrong key, topic or environment would cause the deletion of all push tokens within a minute.
struct DeletionBreaker {
    private var windowStart = Moment(milliseconds: 0)
    private var deadCount = 0
    private var acceptedCount = 0
    private var openUntil: Moment?

    /// Whether deletion is stopped.
    func isOpen(at now: Moment) -> Bool { openUntil.map { now < $0 } ?? false }

    /// Records a push that was accepted.
    mutating func accepted(at now: Moment) {
        startWindowIfDue(at: now)
        acceptedCount += 1
    }

    /// Records a dead push token; returns whether it may be deleted.
    mutating func mayDelete(at now: Moment) -> Bool {
        startWindowIfDue(at: now)
        deadCount += 1
        if deadCount >= SwitchboardLimits.deadTokens, deadCount > 2 * acceptedCount {
            openUntil = now + SwitchboardLimits.deletionPause
        }
        return !isOpen(at: now)
    }

    private mutating func startWindowIfDue(at now: Moment) {
        guard now >= windowStart + SwitchboardLimits.deadTokenWindow else { return }
        windowStart = now
        deadCount = 0
        acceptedCount = 0
    }
}
