import CallCore

/// Stops the deletion of push tokens when the push services refuse those of so many users that the fault must be on the
/// server's side (protocol, section 6.4).
///
/// Otherwise a wrong key, topic or environment would cause the deletion of all push tokens within a minute. Each user
/// counts once in a window: nobody can stop the deletion by registering many dead tokens.
struct DeletionBreaker {
    private var windowStart = Moment(milliseconds: 0)
    private var users: Set<UserID> = []
    private var acceptedCount = 0
    private var openUntil: Moment?

    /// Whether deletion is stopped.
    func isOpen(at now: Moment) -> Bool { openUntil.map { now < $0 } ?? false }

    /// Records a push that was accepted.
    mutating func accepted(at now: Moment) {
        startWindowIfDue(at: now)
        acceptedCount += 1
    }

    /// Records a user's dead push token; returns whether it may be deleted.
    mutating func mayDelete(of user: UserID, at now: Moment) -> Bool {
        startWindowIfDue(at: now)
        users.insert(user)
        if users.count >= SwitchboardLimits.deadTokens, users.count > 2 * acceptedCount {
            openUntil = now + SwitchboardLimits.deletionPause
        }
        return !isOpen(at: now)
    }

    private mutating func startWindowIfDue(at now: Moment) {
        guard now >= windowStart + SwitchboardLimits.deadTokenWindow else { return }
        windowStart = now
        users = []
        acceptedCount = 0
    }
}
