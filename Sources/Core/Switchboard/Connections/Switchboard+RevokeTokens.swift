import CallCore
import CallPorts
import CallWire

/// Revoking a user's tokens: requested by the user, by a service or by the operator.
extension Switchboard {
    /// Handles `POST /api/logout-all`: for the user itself, or, from a service, for the user that it names.
    mutating func revokeTokens(_ user: UserID?, by principal: Principal, as id: RequestID) {
        guard user != nil || !principal.isService else { return refuse(id, Self.refusedToServices) }
        let user = user ?? principal.user
        guard user == principal.user || principal.isService else {
            refuse(
                id,
                WireError(.forbidden, "userId: only a service token may name another user", field: Field.userId.name)
            )
            return
        }
        let before = revoke(user, upTo: turn.now, asker: user == principal.user ? principal : nil)
        turn.out.append(.audit(.revoked(user, by: user == principal.user ? .user : .service(principal.user))))
        sendWhenDurable(.reply(id, Reply(body: AcceptedBody.tokensRevoked(before: before))))
    }

    mutating func carryOut(_ command: OperatorCommand, as id: OperatorCommandID) {
        switch command {
        // A moment in the future (the clock was set back after the operator's command) would lock the user out until
        // then.
        case .revoke(let user, let moment):
            if moment > turn.now + policy.tokenLeeway {
                directory.originalRevocations[user] = max(moment, directory.originalRevocations[user] ?? moment)
            }
            revoke(user, upTo: min(moment, turn.now), asker: nil)
            turn.out.append(.audit(.revoked(user, by: .theOperator)))
        case .resendEvents(let resend): resendEvents(resend)
        }
        sendWhenDurable(.done(id))
    }

    /// Refuses the tokens and capabilities that were issued to a user up to a moment, and ends the connections and long
    /// polls that use them.
    ///
    /// The user's devices are removed: a device without a valid token must not ring for calls that it cannot take. A
    /// device registers again with its next token.
    ///
    /// - Returns: The moment up to which tokens are refused. It is later than `moment` if an earlier revocation has a
    ///   later moment, or if a token in use here was issued later by an issuer whose clock is ahead.
    @discardableResult
    private mutating func revoke(_ user: UserID, upTo moment: Moment, asker: Principal?) -> Moment {
        let open = connections.of(user)
        let ahead = ([asker] + open.map(\.principal)).compactMap { $0?.issuedAt }
            .filter { turn.now < $0 && $0 <= turn.now + policy.tokenLeeway }.max()
        let before = max(moment, ahead ?? moment, directory.revocation(of: user) ?? moment)
        directory.revoke(user, before: before)
        commits.append(.revoked(user, before: max(before, directory.originalRevocations[user] ?? before)))
        turn.out.append(.revoked(user, before: before))
        metrics.revocations += 1
        for device in directory.devices(of: user) {
            directory.remove(device.id, of: user)
            commits.append(.deviceRemoved(user, device.id))
            reportRemoved(device, .loggedOut)
            cancelPushes(to: device.id, of: user, onlyNotices: true)
        }
        for call in calls.live(of: user) {
            guard let side = call.side(of: user) else { continue }
            note(call, .tokensRevoked(side))
            if side == .callee { stopWaking(call) }
        }
        for id in polls.ids {
            guard let principal = polls[id]?.principal, principal.user == user, isRevoked(principal) else { continue }
            abandoned(id)
            refuse(id, Self.revokedToken)
        }
        for connection in open where isRevoked(connection.principal) {
            turn.out.append(.send(connection.id, ServerFrame.error(Self.revokedToken, id: nil)))
            close(connection.id, code: 4401, "the user logged out everywhere")
            closed(connection.id)
        }
        return before
    }
}
