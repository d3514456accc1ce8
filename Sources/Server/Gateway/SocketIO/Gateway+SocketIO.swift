import CallCore
import CallPorts
import CallWire
import Crypto
import LibWebSockets
import SocketIO
import Switchboard

/// Connects Socket.IO sessions with their transports and with the switchboard.
extension Gateway {
    /// The paths of Socket.IO, in addition to the default ones in `ServerConfiguration.webSocketPaths`.
    package static let socketIOPaths = ["/signal/socket.io/", "/signal/socket.io", "/socket.io/", "/socket.io"]

    /// Passes an input to a session and performs its outputs.
    func feedSession(_ input: SocketSession.Input, _ session: SocketIOSession) {
        for output in session.machine.handle(input, at: now) { perform(output, session) }
    }

    private func perform(_ output: SocketSession.Output, _ session: SocketIOSession) {
        switch output {
        case .respond(let request, let payload): respond(request, payload, type: "text/plain; charset=UTF-8")
        case .accept(let request): respond(request, Array("ok".utf8), type: "text/html")
        case .refuse(let request, let refusal): refuse(RequestID(rawValue: request), refusal)
        case .send(let frame):
            guard let socket = session.socket, let ownLoop = loops.own else { return }
            sendFrame(Frame(withHeadroom: frame), to: socket, ownLoop)
        case .pingSocket(let number): if let socket = session.socket { ping(socket, number) }
        case .closeSocket(let code, let reason):
            guard let socket = session.socket else { return }
            session.socket = nil
            socketIO.bySocket[socket] = nil
            close(socket, code: code, reason: reason, discardingQueue: code == 4408)
        case .verify(let token): verify(token, for: session)
        case .join(let identity, let device, let isSelfNamed): join(session, identity, device, isSelfNamed: isSelfNamed)
        case .received(let frame): if session.isJoined { feed(.received(session.id, frame)) }
        case .signOfLife: if session.isJoined { feed(.signOfLife(session.id)) }
        case .ponged(let number): if session.isJoined { feed(.ponged(session.id, number)) }
        case .seen(let cursors): if let key = session.cursorKey { socketIO.cursors.note(cursors, by: key, at: now) }
        case .needsTurnEnd:
            guard !session.needsTurnEnd else { return }
            session.needsTurnEnd = true
            socketIO.needingTurnEnd.append(session)
        case .refusedPacket(let reason): counts.packetsRefused[reason, default: 0] += 1
        case .over:
            if session.machine.wasTooSlow { counts.queueDrops += 1 }
            socketIO.remove(session)
            if session.isJoined { feed(.closed(session.id)) }
        }
    }

    private func verify(_ token: String, for session: SocketIOSession) {
        do throws(WireError) {
            let principal = try router.admit(token)
            // If the handshake had a token, it already counted a connect for that token's user.
            if principal.user != session.countedUser, let refusal = router.connects.refusal(of: principal, at: now) {
                throw refusal
            }
            session.principal = principal
            feedSession(.verified(.success(.init(user: principal.user, isInteger: principal.userIsInteger))), session)
        } catch {
            feedSession(.verified(.failure(error)), session)
        }
    }

    private func join(
        _ session: SocketIOSession,
        _ identity: SocketSession.Identity,
        _ device: DeviceID?,
        isSelfNamed: Bool
    ) {
        let named = Principal(
            user: identity.user,
            fingerprint: TrustingAuthenticator.fingerprint(of: identity.user),
            // The session has no token that could have been revoked. With the present moment, no earlier revocation
            // covers the session.
            issuedAt: now,
            userIsInteger: identity.isInteger
        )
        guard let principal = isSelfNamed ? named : session.principal else { return }
        // For a client with a token, the connect was counted when the token was verified.
        if isSelfNamed, let refusal = router.connects.refusal(of: principal.user, at: now) {
            feedSession(.closedByServer(code: 4429, reason: refusal.message), session)
            return
        }
        let device = device ?? session.device ?? principal.device
        guard let deviceID = device ?? switchboard?.deviceIdentity(opening: principal).id else { return }
        let cursorKey = ReplayCursors.Key(user: principal.user, device: deviceID)
        session.cursorKey = cursorKey
        socketIO.join(session)
        feed(.joined(session.id, principal, device: device, seen: socketIO.cursors.seen(by: cursorKey)))
    }

    /// Passes the end of the turn to the sessions that asked for it; by then, all inputs that arrived together have
    /// been handled.
    func endSocketIOTurns() {
        while !socketIO.needingTurnEnd.isEmpty {
            var batch: [SocketIOSession] = []
            swap(&batch, &socketIO.needingTurnEnd)
            for session in batch {
                session.needsTurnEnd = false
                feedSession(.turnEnded, session)
            }
        }
    }

    /// Closes the sessions that are late to authenticate, and lets each session that is due check its deadlines.
    func checkSocketIO() {
        while let session = socketIO.lateUnauthenticated(at: now) { drop(session, .late) }
        for session in socketIO.due(at: now) { feedSession(.deadlineReached, session) }
    }

    /// Closes the sessions that have not joined.
    ///
    /// The switchboard does not know them, so it cannot close them.
    func drainSocketIO() {
        for session in socketIO.bySID.values where !session.isJoined {
            feedSession(.closedByServer(code: 1001, reason: "the server is shutting down; reconnect"), session)
        }
    }

    // MARK: New sessions

    /// Creates a session.
    ///
    /// If there are too many unauthenticated sessions afterwards, one of them is closed.
    func makeSession(_ beginning: EngineHandshake.NewSession, isSocket: Bool) -> SocketIOSession {
        let machine = SocketSession(
            names: (Self.name(bytes: 15), Self.name(bytes: 15), "s" + Self.name(bytes: 6)),
            version: beginning.version,
            isSocket: isSocket,
            credential: beginning.credential,
            trustsUnverifiedSocketIOUsers: configuration.trustsUnverifiedSocketIOUsers,
            at: now
        )
        let session = SocketIOSession(machine, id: socketIO.makeID(), beginning)
        socketIO.insert(session, at: now)
        if let other = socketIO.excessUnauthenticated { drop(other, .tooMany) }
        return session
    }

    private func drop(_ session: SocketIOSession, _ reason: DroppedUnauthenticatedSession) {
        counts.unauthenticatedDropped[reason, default: 0] += 1
        feedSession(.closedByServer(code: 4401, reason: "not authenticated"), session)
    }

    /// Returns an unpredictable name, in an alphabet that is safe in URLs.
    private static func name(bytes: Int) -> String { Base64URL.encode(SecureRandom.bytes(bytes)) }
}

/// An authenticator that gives all tokens of a user the same fingerprint.
///
/// A token that names no device stands for the device of its fingerprint, so all such tokens of a user stand for one
/// device.
///
/// It is used where a client without a token may name its user itself
/// (``GatewayConfiguration/trustsUnverifiedSocketIOUsers``). With different fingerprints, such a client's session and
/// its requests, which do have a token, would count as two devices.
struct TrustingAuthenticator: Authenticator {
    let strict: any Authenticator

    func authenticate(_ token: String, atSeconds now: Int64) throws(AuthenticationError) -> Principal {
        var principal = try strict.authenticate(token, atSeconds: now)
        if !principal.isService { principal.fingerprint = Self.fingerprint(of: principal.user) }
        return principal
    }

    func authenticate(capability: String, atMilliseconds now: Int64) throws(AuthenticationError) -> Principal {
        try strict.authenticate(capability: capability, atMilliseconds: now)
    }

    static func fingerprint(of user: UserID) -> TokenFingerprint {
        TokenFingerprint(rawValue: SDP.digest(Array(user.text.utf8)))
    }
}
