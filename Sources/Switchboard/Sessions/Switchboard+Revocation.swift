import CallCore
import CallPorts
public import CallWire
import JSON

/// Logging out everywhere: all tokens and capabilities that were issued to the user before the log-out become void.
extension Switchboard {
    /// The answer to a token or an `act` that was issued before its user logged out everywhere.
    public static let revokedToken = WireError(.unauthenticated, "the token was revoked: log in again")

    /// Whether a user has logged out everywhere since a token, or a push's capability, was issued.
    ///
    /// A capability counts as issued when its call began. That is exact enough: after the log-out no further push, and
    /// so no further capability, is sent to the user for a call that had begun before it. The capability of a call at
    /// rest is checked again when the call has been loaded.
    func isRevoked(_ who: Who) -> Bool {
        guard let before = directory.revocation(of: who.user) else { return false }
        guard let scope = who.scope else { return who.isRevoked(before: before) }
        let call = calls[CallKey(id: scope.call, pair: Pair(who.user, scope.peer))]
        return call.map { $0.session.epoch == scope.epoch && $0.session.startedAt <= before } ?? false
    }

    /// Changes the date of each log-out that is dated in the future to the current time.
    ///
    /// Such a date comes from a clock that has been set back since; it would lock the user out until then. But it may
    /// be the current clock that is wrong, as at a boot before NTP: then revoked tokens would be valid again. So the
    /// store keeps the original date until the clock is trusted with deleting history (`HistoryHold`). A restart before
    /// that, with a right clock, uses the original date again.
    mutating func cutRevocations(at now: Moment) {
        for user in directory.revocations(behind: now + policy.tokenLeeway) {
            uncutRevocations[user] = directory.revocation(of: user)
            directory.revoke(user, before: now)
            out.append(.revoked(user, before: now))
        }
        guard !uncutRevocations.isEmpty, historyHold.allowsDeletion(at: now) else { return }
        for user in uncutRevocations.keys.sorted() {
            if let before = directory.revocation(of: user) { changes.append(.revoked(user, before: before)) }
        }
        uncutRevocations = [:]
    }

    /// Handles `POST /api/logout-all`: for the user itself, or, from a service, for any user.
    mutating func logOutEverywhere(_ user: UserID?, by who: Who, as id: RequestID, at now: Moment) {
        let user = user ?? who.user
        guard user == who.user || who.isService else {
            refuse(
                id,
                WireError(.forbidden, "userId: only a service token may name another user", field: Field.userId.name)
            )
            return
        }
        let before = revoke(user, upTo: now, asker: user == who.user ? who : nil, at: now)
        out.append(.audit(.revoked(user, by: user == who.user ? .user : .service(who.user))))
        var json = JSONWriter()
        json.beginObject()
        json.name("ok")
        json.value(true)
        json.name("before")
        json.value(before.milliseconds)
        json.endObject()
        say(.reply(id, Reply(body: json.bytes)), at: now)
    }

    mutating func carryOut(_ order: Order, as id: OrderID, at now: Moment) {
        switch order {
        // An order dated in the future (the clock was set back since) would lock the user out until then.
        case .revoke(let user, let moment):
            if moment > now + policy.tokenLeeway {
                uncutRevocations[user] = max(moment, uncutRevocations[user] ?? moment)
            }
            revoke(user, upTo: min(moment, now), asker: nil, at: now)
            out.append(.audit(.revoked(user, by: .theOperator)))
        }
        say(.done(id), at: now)
    }

    /// Refuses the tokens and capabilities that were issued to a user up to a moment, and ends the connections and long
    /// polls that use them.
    ///
    /// The user's devices are removed: a device that was logged out must not ring for calls that it cannot take. It
    /// registers again with its next token.
    ///
    /// - Returns: the moment up to which they are refused. It is later than `moment` if a token in use here was issued
    ///   later, by an issuer whose clock is ahead.
    @discardableResult
    private mutating func revoke(_ user: UserID, upTo moment: Moment, asker: Who?, at now: Moment) -> Moment {
        let open = sessionsByUser[user] ?? []
        let ahead = ([asker] + open.map(\.who)).compactMap { $0?.issuedAt }
            .filter { now < $0 && $0 <= now + policy.tokenLeeway }.max()
        let before = max(moment, ahead ?? moment, directory.revocation(of: user) ?? moment)
        directory.revoke(user, before: before)
        changes.append(.revoked(user, before: max(before, uncutRevocations[user] ?? before)))
        out.append(.revoked(user, before: before))
        metrics.revocations += 1
        for device in directory.devices(of: user) {
            directory.remove(device.id, of: user)
            changes.append(.deviceRemoved(user, device.id))
            takeBackPushes(to: device.id, of: user, onlyNotices: true)
        }
        for call in calls.live(of: user) {
            guard let side = call.session.side(of: user) else { continue }
            note(call, .loggedOut(side), at: now)
            if side == .callee { stopWaking(call, at: now) }
        }
        for id in polls.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let who = polls[id]?.who, who.user == user, isRevoked(who) else { continue }
            abandoned(id, at: now)
            refuse(id, Self.revokedToken)
        }
        for session in open where isRevoked(session.who) {
            out.append(.send(session.id, ServerFrame.error(Self.revokedToken, id: nil)))
            close(session.id, code: 4401, "the user logged out everywhere")
            closed(session.id, at: now)
        }
        return before
    }
}
