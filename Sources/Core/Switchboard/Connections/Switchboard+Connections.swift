import CallCore
import CallPorts
import CallWire

/// Connections: how they open, how they are checked for signs of life, and how they close.
extension Switchboard {
    mutating func opened(
        _ id: SocketID,
        _ principal: Principal,
        device: DeviceID?,
        seen: [LogIdentity: UInt64]? = nil
    ) {
        guard mayOpen(id, principal, isStateless: seen != nil) else { return }
        let (identity, isNamed) = identify(principal, naming: device, isStateless: seen != nil)
        let own = connections.of(principal.user)
        if isNamed, let older = own.first(where: { $0.device.id == identity.id }) {
            // A device that lost its network reconnects before its old connection is known to be dead.
            close(older.id, code: 4409, Self.replacedReason)
            closed(older.id, isReplaced: true)
        } else if own.count >= policy.connectionsPerUser {
            rejectAsTooMany(id)
            return
        }
        let connection = insert(id, principal, identity, isNamed: isNamed, isStateless: seen != nil)
        metrics.connectionsOpened += 1
        turn.out.append(
            .send(
                id,
                ServerFrame.welcome(
                    user: principal.user,
                    device: identity.id,
                    session: "s_\(String(id.rawValue, radix: 36))",
                    heartbeatSeconds: policy.heartbeat.milliseconds / 1_000,
                    iceServers: iceServers(for: principal),
                    frameBytes: WireLimits.frameBytes,
                    signalsPerSecond: policy.signalsPerSecond,
                    applicationServerKey: policy.applicationServerKey
                )
            )
        )
        noteSignOfLife(identity, of: principal.user, isNamed: isNamed)
        replayEverything(to: connection, seen: seen)
        scheduleCheckUp(of: connection)
        if own.isEmpty { tellPresence(of: principal.user, isOnline: true) }
        watchContacts(connection)
    }

    /// Returns whether a connection of this principal may open; otherwise closes it.
    mutating func mayOpen(_ id: SocketID, _ principal: Principal, isStateless: Bool) -> Bool {
        guard !connections.isDraining else {
            reject(id, isStateless: isStateless)
            return false
        }
        guard !isRevoked(principal) else {
            countClose(4401)
            turn.out.append(.audit(.tokenRefused(cause: "revoked", principal.user)))
            turn.out.append(.close(id, code: 4401, reason: Self.revokedToken.message, isLost: false))
            return false
        }
        return true
    }

    /// Returns the device of a client that opens a connection, and whether the client named it; `assigned` is the id that
    /// an earlier owner of the calls gave it.
    mutating func identify(
        _ principal: Principal,
        naming device: DeviceID?,
        assigned: DeviceID? = nil,
        isStateless: Bool
    ) -> (device: DeviceIdentity, isNamed: Bool) {
        if let named = device ?? principal.device {
            let identity = DeviceIdentity(id: named, fingerprint: principal.fingerprint)
            // A device that is identified by its token is a device without an id.
            return (identity, !identity.isUnnamed)
        }
        if isStateless { return (deviceIdentity(opening: principal), false) }
        if let assigned, !connections.of(principal.user).contains(where: { $0.device.id == assigned }) {
            return (DeviceIdentity(id: assigned, fingerprint: principal.fingerprint), false)
        }
        return (DeviceIdentity(id: unnamedDevice(of: principal), fingerprint: principal.fingerprint), false)
    }

    /// Closes a connection of a user that has too many.
    mutating func rejectAsTooMany(_ id: SocketID) {
        countClose(4429)
        turn.out.append(.close(id, code: 4429, reason: "too many connections of this user", isLost: false))
    }

    /// Adds a connection to the registry.
    mutating func insert(
        _ id: SocketID,
        _ principal: Principal,
        _ device: DeviceIdentity,
        isNamed: Bool,
        isStateless: Bool,
        openFor: Moment.Duration = .milliseconds(0)
    ) -> Connection {
        let now = turn.now
        let connection = Connection(
            id: id,
            principal: principal,
            device: device,
            isNamed: isNamed,
            isStateless: isStateless,
            bucket: TokenBucket(perSecond: Double(policy.signalsPerSecond), burst: policy.signalBurst, at: now),
            openFor: openFor,
            at: now
        )
        // Connections that open together, after a restart for instance, must not be pinged together for ever.
        let ahead = Int64.random(in: 0..<max(1, policy.heartbeat.milliseconds), using: &ports.random)
        connection.pingedAt = now - .milliseconds(ahead)
        connections.insert(connection)
        metrics.connections = connections.count
        trace(from: .connections, .opened(id, principal.user, device.id, isNamed: isNamed))
        return connection
    }

    static let replacedReason = "replaced by a new connection of the same device"

    /// Returns an id for a device without one: the id of its earlier connection, or a random id.
    ///
    /// The earlier id is used if a leg of a live call has it together with the client's token, and no open connection
    /// of the user has it.
    private mutating func unnamedDevice(of principal: Principal) -> DeviceID {
        for call in calls.live(of: principal.user) {
            for leg in call.session.legs
            where leg.device.fingerprint == principal.fingerprint && leg.device.isOfConnection {
                let isThere = connections.of(principal.user).contains { $0.device.id == leg.device.id }
                if call.user(on: leg.side) == principal.user, !isThere { return leg.device.id }
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
    /// The pong also counts as the pong to all earlier pings, because a client need not answer each ping (RFC 6455
    /// §5.5.3).
    mutating func ponged(_ id: SocketID, _ number: UInt64) {
        guard let connection = connections[id], countSignOfLife(connection) else { return }
        // A pong to a ping of the former owner confirms nothing of what this owner has sent.
        if connection.isAdopted, number > connection.pings { return }
        // A pong cannot answer a ping that was not sent yet.
        let number = min(number, connection.pings)
        while let first = connection.unconfirmedEnds.first, first.ping <= number {
            connection.unconfirmedEnds.removeFirst()
            if let call = calls[first.call] { process(call, .endDelivered(connection.device, first.side)) }
        }
        readMoreEnds(for: connection)
        while let first = connection.texts.first, first.ping <= number {
            connection.texts.removeFirst()
            first.text.hasArrived = true
        }
        if connection.backlog.ponged(number) { backlogShrank(connection) }
    }

    /// Handles a sign of life that is neither a frame nor a numbered pong: an unsolicited pong, a ping, or a poll.
    mutating func gaveSignOfLife(_ id: SocketID) {
        if let connection = connections[id] { _ = countSignOfLife(connection) }
    }

    /// Records a sign of life; returns whether the connection is still open.
    ///
    /// Far too many signs close the connection, as far too many frames do.
    private mutating func countSignOfLife(_ connection: Connection) -> Bool {
        heard(connection)
        connection.signsOfLife += 1
        guard connection.signsOfLife > SwitchboardLimits.signsOfLifePerPing else { return true }
        metrics.limited[.pongs] += 1
        return !closesAsTooFast(connection)
    }

    /// Returns when a connection must be checked: to ping it, to close it, or because its token expires.
    func nextCheckUp(of connection: Connection) -> Moment {
        var next = min(connection.pingedAt + policy.heartbeat, connection.heardAt + policy.silenceTimeout)
        // Rounded up, so that one wake-up serves many connections.
        next = Moment(milliseconds: (next.milliseconds | (SwitchboardLimits.checkUpGrain - 1)) + 1)
        return tokenEnd(of: connection).map { min(next, $0) } ?? next
    }

    /// Ensures that a connection has a timer for its next check-up; other check-up timers of the connection that are
    /// still pending are ignored when they fire.
    mutating func scheduleCheckUp(of connection: Connection) {
        let next = nextCheckUp(of: connection)
        if let at = connection.scheduledAt, at <= next { return }
        connection.scheduledAt = next
        schedule(.connection(connection.id), at: next)
    }

    private func tokenEnd(of connection: Connection) -> Moment? { tokenEnd(of: connection.principal) }

    func tokenEnd(of principal: Principal) -> Moment? { principal.expiresAt.map { $0 + policy.tokenLeeway } }

    mutating func checkUp(on connection: Connection) {
        let now = turn.now
        if let end = tokenEnd(of: connection), now >= end {
            turn.out.append(
                .send(connection.id, ServerFrame.error(WireError(.tokenExpired, "the token has expired"), id: nil))
            )
            close(connection.id, code: 4401, "the token has expired")
            closed(connection.id)
            return
        }
        if now >= connection.heardAt + policy.silenceTimeout {
            close(connection.id, code: 1001, "nothing was received for too long", isLost: true)
            closed(connection.id)
            return
        }
        if now >= connection.pingedAt + policy.heartbeat {
            ping(connection)
            queryPeersAgain(of: connection)
            readMoreEnds(for: connection)
        }
        if connection.backlog.assumePong(
            awaitedSince: now - policy.silenceTimeout
        ) {
            backlogShrank(connection)
        }
        scheduleCheckUp(of: connection)
    }

    /// Handles the closing of a connection.
    ///
    /// `isReplaced`: Whether the device has just opened another connection, and so needs no push.
    mutating func closed(_ id: SocketID, isReplaced: Bool = false, code: UInt16? = nil) {
        guard let connection = connections.remove(id) else { return }
        let now = turn.now
        trace(
            from: .connections,
            .closed(
                id,
                connection.user,
                connection.device.id,
                code: connection.closedWith ?? code,
                openFor: now - connection.openedAt
            )
        )
        metrics.connections = connections.count
        if !connections.isOnline(connection.user) { directory.contacts.forget(connection.user) }
        leaveAllRooms(connection)
        connections.watchNobody(connection)
        endWatch(of: connection)
        clearBacklogged(connection)
        for call in calls.live(of: connection.user) {
            guard let side = call.side(of: connection.user) else { continue }
            if connection.isNamed { renameDevice(connection.device, as: connection.device, in: call, side) }
            if !isPresent(connection.device, of: connection.user, in: call) {
                process(call, .gone(connection.device, side))
                checkReach(of: call)
            }
        }
        if !isReplaced { pushAfterClose(of: connection) }
        stopAwaitingTexts(by: connection)
        if !isReplaced, !connections.isOnline(connection.user) { tellPresence(of: connection.user, isOnline: false) }
    }

    /// Closes a connection that did not answer its probe in time: the connection was dead, and its device is pushed.
    mutating func checkProbe(of connection: Connection) {
        guard let probedAt = connection.probedAt, turn.now >= probedAt + policy.probeTimeout else { return }
        close(connection.id, code: 1001, "no answer to a ping", isLost: true)
        closed(connection.id)
    }

    /// Counts a frame as too fast; returns whether the connection was closed because of too many such frames.
    mutating func closesAsTooFast(_ connection: Connection) -> Bool {
        connection.refusedFrames += 1
        guard connection.refusedFrames >= policy.refusedFrames else { return false }
        close(connection.id, code: 4429, "far too many frames")
        closed(connection.id)
        return true
    }
}
