import CallCore
import CallPorts
package import CallWire

/// Revocation: all tokens and capabilities that were issued to a user before the revocation become void.
extension Switchboard {
    /// The refusal of a token or an `act` that was issued before the revocation.
    package static let revokedToken = WireError(.unauthenticated, "the token was revoked: log in again")

    /// Whether a token, or a push's capability, was issued before its user's revocation.
    ///
    /// A capability counts as issued when its call began. That is exact enough: after the revocation no further push,
    /// and so no further capability, is sent to the user for a call that began before the revocation. The capability of
    /// a call at rest is checked again when the call has been loaded.
    func isRevoked(_ principal: Principal) -> Bool {
        guard let before = directory.revocation(of: principal.user) else { return false }
        guard let scope = principal.scope else { return principal.isRevoked(upTo: before) }
        let call = calls[CallKey(id: scope.call, pair: Pair(principal.user, scope.peer))]
        return call.map { $0.epoch == scope.epoch && $0.session.startedAt <= before } ?? false
    }

    /// Changes the date of each revocation that is dated in the future, by more than the leeway for clocks, to the
    /// current time.
    ///
    /// Such a date comes from a clock that was set back later; it would lock the user out until that date. But the
    /// current time may be the wrong one, as at a boot before NTP has set the clock, and then revoked tokens would
    /// become valid again. So the store keeps the original date until the clock is trusted with deleting history
    /// (`HistoryHold`). A restart before that, with a right clock, uses the original date again.
    mutating func limitFutureRevocations() {
        let now = turn.now
        for user in directory.usersRevoked(after: now + policy.tokenLeeway) {
            directory.originalRevocations[user] = directory.revocation(of: user)
            directory.revoke(user, before: now)
            turn.out.append(.revoked(user, before: now))
        }
        guard !directory.originalRevocations.isEmpty, precautions.historyHold.allowsDeletion(at: now) else { return }
        for user in directory.originalRevocations.keys.sorted() {
            if let before = directory.revocation(of: user) { commits.append(.revoked(user, before: before)) }
        }
        directory.originalRevocations = [:]
    }
}
