import CallCore
import CallPorts
import CallWire

/// Connections: how they open, what is replayed to them, how they are checked for life, how they close.
extension Switchboard {
    mutating func opened(
        _ id: SessionID,
        _ who: Who,
        device: DeviceID?,
        seen: [LogName: UInt64]? = nil,
        at now: Moment
    ) {
        guard !connections.isDraining else {
            turnAway(id, keepsNoPlace: seen != nil)
            return
        }
        guard !isRevoked(who) else {
            countClose(4401)
            turn.out.append(.audit(.tokenRefused(cause: "revoked", who.user)))
            turn.out.append(.close(id, code: 4401, reason: Self.revokedToken.message, isLost: false))
            return
        }
        let named = device ?? who.device
        let phone: Phone
        if let named {
            phone = Phone(id: named, mark: who.mark)
        } else if seen != nil {
            phone = self.phone(opening: who)
        } else {
            phone = Phone(id: unnamedDevice(of: who), mark: who.mark)
        }
        // A device that is identified by its token is a device without an id.
        let isNamed = named != nil && !phone.isUnnamed
        let own = connections.of(who.user)
        if isNamed, let named, let older = own.first(where: { $0.phone.id == named }) {
            // A device that lost its network reconnects before its old connection is known to be dead.
            close(older.id, code: 4409, "replaced by a new connection of the same device")
            closed(older.id, isReplaced: true, at: now)
        } else if own.count >= policy.sessionsPerUser {
            countClose(4429)
            turn.out.append(.close(id, code: 4429, reason: "too many connections of this user", isLost: false))
            return
        }
        let session = Session(
            id: id,
            who: who,
            phone: phone,
            isNamed: isNamed,
            keepsNoPlace: seen != nil,
            bucket: TokenBucket(perSecond: Double(policy.signalsPerSecond), burst: policy.signalBurst, at: now),
            at: now
        )
        // Connections that open together, after a restart for instance, must not be pinged together for ever.
        let ahead = Int64.random(in: 0..<max(1, policy.heartbeat.milliseconds), using: &ports.random)
        session.pingedAt = Moment(milliseconds: now.milliseconds - ahead)
        connections.insert(session)
        metrics.sessions = connections.count
        metrics.sessionsOpened += 1
        trace(from: .connections, .opened(id, who.user, phone.id, isNamed: isNamed))
        turn.out.append(
            .send(
                id,
                ServerFrame.welcome(
                    user: who.user,
                    device: phone.id,
                    session: "s_\(String(id.rawValue, radix: 36))",
                    heartbeatSeconds: policy.heartbeat.milliseconds / 1_000,
                    iceServers: iceServers(for: who, at: now),
                    frameBytes: WireLimits.frameBytes,
                    signalsPerSecond: policy.signalsPerSecond
                )
            )
        )
        showsLife(phone, of: who.user, isNamed: isNamed, at: now)
        replayEverything(to: session, seen: seen, at: now)
        scheduleCheckUp(of: session)
        if own.isEmpty { tellPresence(of: who.user, isOnline: true) }
        watchContacts(session, at: now)
    }

    /// Returns an id for a device without one: the id of its earlier connection if a live call still has a leg with
    /// that id, otherwise a random id.
    private mutating func unnamedDevice(of who: Who) -> DeviceID {
        for call in calls.live(of: who.user) {
            for leg in call.session.legs where leg.phone.mark == who.mark && leg.phone.isOfConnection {
                let isThere = connections.of(who.user).contains { $0.phone.id == leg.phone.id }
                if call.user(on: leg.side) == who.user, !isThere { return leg.phone.id }
            }
        }
        let digits = String(ports.random.next(), radix: 16)
        guard let id = DeviceID("c-" + String(repeating: "0", count: 16 - digits.count) + digits) else {
            preconditionFailure("a connection's device id is of the form")
        }
        return id
    }

    /// Handles the pong to a ping.
    ///
    /// The pong also answers the earlier pings, because a client need not answer each ping (RFC 6455 §5.5.3).
    mutating func ponged(_ id: SessionID, _ number: UInt64, at now: Moment) {
        guard let session = connections[id], givesSign(session, at: now) else { return }
        // A pong cannot answer a ping that was not sent yet.
        let number = min(number, session.pings)
        while let first = session.news.first, first.ping <= number {
            session.news.removeFirst()
            if let call = calls[first.call] { drive(call, .told(session.phone, first.side), at: now) }
        }
        while let first = session.texts.first, first.ping <= number {
            session.texts.removeFirst()
            first.text.hasArrived = true
        }
        if session.backlog.ponged(number) { shrank(session, at: now) }
    }

    /// Handles a sign of life that is neither a frame nor a numbered pong: an unsolicited pong, a ping, or a poll.
    mutating func showedLife(_ id: SessionID, at now: Moment) {
        if let session = connections[id] { _ = givesSign(session, at: now) }
    }

    /// Records a sign of life; returns whether the connection is still open.
    ///
    /// Far too many signs close the connection, as far too many frames do.
    private mutating func givesSign(_ session: Session, at now: Moment) -> Bool {
        heard(session, at: now)
        session.signs += 1
        guard session.signs > SwitchboardLimits.signs else { return true }
        metrics.limited[.pongs] += 1
        return !closesAsTooFast(session, at: now)
    }

    /// Returns when a connection must be checked: to ping it, to close it, or because its token expires.
    func nextCheckUp(of session: Session) -> Moment {
        var next = min(session.pingedAt + policy.heartbeat, session.heardAt + policy.silence)
        // Rounded up, so that one wake-up serves many connections.
        next = Moment(milliseconds: (next.milliseconds | (SwitchboardLimits.checkUpGrain - 1)) + 1)
        return tokenEnd(of: session).map { min(next, $0) } ?? next
    }

    /// Ensures that a connection has a timer for its next check-up; its other timers are ignored.
    mutating func scheduleCheckUp(of session: Session) {
        let next = nextCheckUp(of: session)
        if let at = session.scheduledAt, at <= next { return }
        session.scheduledAt = next
        schedule(.session(session.id), at: next)
    }

    private func tokenEnd(of session: Session) -> Moment? { session.who.expiresAt.map { $0 + policy.tokenLeeway } }

    mutating func checkUp(on session: Session, at now: Moment) {
        if let end = tokenEnd(of: session), now >= end {
            turn.out.append(
                .send(session.id, ServerFrame.error(WireError(.tokenExpired, "the token has expired"), id: nil))
            )
            close(session.id, code: 4401, "the token has expired")
            closed(session.id, at: now)
            return
        }
        if now >= session.heardAt + policy.silence {
            close(session.id, code: 1001, "nothing was received for too long", isLost: true)
            closed(session.id, at: now)
            return
        }
        if now >= session.pingedAt + policy.heartbeat {
            ping(session, at: now)
            askAgainForPeers(of: session, at: now)
            if session.hasUnreadNews {
                session.hasUnreadNews = false
                tellNews(to: session, at: now)
            }
        }
        if session.backlog.giveUp(awaitedSince: Moment(milliseconds: now.milliseconds - policy.silence.milliseconds)) {
            shrank(session, at: now)
        }
        scheduleCheckUp(of: session)
    }

    /// Handles the closing of a connection.
    ///
    /// `isReplaced`: Whether the device has just opened another connection, and so needs no push.
    mutating func closed(_ id: SessionID, isReplaced: Bool = false, code: UInt16? = nil, at now: Moment) {
        guard let session = connections.remove(id) else { return }
        trace(
            from: .connections,
            .closed(
                id,
                session.user,
                session.phone.id,
                code: session.closedWith ?? code,
                openFor: now - session.openedAt
            )
        )
        metrics.sessions = connections.count
        if !connections.isOnline(session.user) { acquaintances.forget(session.user) }
        leaveAllRooms(session)
        connections.watchNobody(session)
        isNotBacklogged(session)
        for call in calls.live(of: session.user) {
            guard let side = call.session.side(of: session.user) else { continue }
            if session.isNamed { goesOn(session.phone, as: session.phone, in: call, side, at: now) }
            if !isPresent(session.phone, of: session.user, in: call) {
                drive(call, .gone(session.phone, side), at: now)
            }
        }
        if !isReplaced { wakeInstead(of: session, at: now) }
        giveUpTexts(to: session, at: now)
        if !isReplaced, !connections.isOnline(session.user) { tellPresence(of: session.user, isOnline: false) }
    }

    /// Closes a connection that did not answer its probe in time: it was dead, and its device is pushed.
    mutating func checkProbe(of session: Session, at now: Moment) {
        guard let probedAt = session.probedAt, now >= probedAt + policy.probeFor else { return }
        close(session.id, code: 1001, "no answer to a ping", isLost: true)
        closed(session.id, at: now)
    }

    /// Counts a frame as too fast; returns whether the connection was closed because of too many such frames.
    mutating func closesAsTooFast(_ session: Session, at now: Moment) -> Bool {
        session.refused += 1
        guard session.refused >= policy.refusedFrames else { return false }
        close(session.id, code: 4429, "far too many frames")
        closed(session.id, at: now)
        return true
    }
}
