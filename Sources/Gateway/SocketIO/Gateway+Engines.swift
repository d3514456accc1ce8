import CallCore
import CallWire
import Crypto
import LibWebSockets
import SocketIO
import Switchboard

/// Connects Socket.IO sessions with their transports and with the switchboard.
extension Gateway {
    /// The paths of Socket.IO, in addition to the default ones in `ServerConfiguration.webSocketPaths`.
    public static let socketIOPaths = ["/signal/socket.io/", "/signal/socket.io", "/socket.io/", "/socket.io"]

    /// Passes an input to a session and performs its outputs.
    func handle(_ input: SocketSession.Input, _ engine: Engine) {
        for output in engine.session.handle(input, at: now) { perform(output, engine) }
    }

    private func perform(_ output: SocketSession.Output, _ engine: Engine) {
        switch output {
        case .respond(let request, let payload): answer(request, payload, type: "text/plain; charset=UTF-8")
        case .accept(let request): answer(request, Array("ok".utf8), type: "text/html")
        case .refuse(let request, let refusal): refuse(ExchangeID(rawValue: request), refusal)
        case .send(let frame):
            guard let connection = engine.connection, let server, send(frame, to: connection, server) == .overflow
            else { return }
            handle(.dismissed(code: 4408, reason: "too slow"), engine)
        case .pingSocket(let number): if let connection = engine.connection { ping(connection, number) }
        case .closeSocket(let code, let reason):
            guard let connection = engine.connection else { return }
            engine.connection = nil
            engines.byConnection[connection] = nil
            close(connection, code: code, reason: reason, discardingQueue: code == 4408)
        case .verify(let token): verify(token, for: engine)
        case .join(let identity, let device, let isTrusted): join(engine, identity, device, isTrusted: isTrusted)
        case .received(let frame): feed(.received(engine.id, frame))
        case .showedLife: if engine.isJoined { feed(.showedLife(engine.id)) }
        case .ponged(let number): if engine.isJoined { feed(.ponged(engine.id, number)) }
        case .seen(let places): if let key = engine.place { engines.places.note(places, by: key, at: now) }
        case .needsTurn:
            guard !engine.needsTurn else { return }
            engine.needsTurn = true
            engines.unturned.append(engine)
        case .refusedPacket(let reason): packetsRefused[reason, default: 0] += 1
        case .over:
            if engine.session.wasTooSlow { queueDrops += 1 }
            engines.remove(engine)
            if engine.isJoined { feed(.closed(engine.id)) }
        }
    }

    private func verify(_ token: String, for engine: Engine) {
        do throws(WireError) {
            let who = try door.admit(token)
            // The handshake already counted a connect for the user of its own token, if it had one.
            if who.user != engine.guarantor, let refusal = door.connects.refusal(of: who, at: now) { throw refusal }
            engine.who = who
            handle(.verified(.success(.init(user: who.user, isInteger: who.userIsInteger))), engine)
        } catch {
            handle(.verified(.failure(error)), engine)
        }
    }

    private func join(
        _ engine: Engine,
        _ identity: SocketSession.Identity,
        _ device: DeviceID?,
        isTrusted: Bool
    ) {
        let trusted = Who(
            user: identity.user,
            mark: TrustingBouncer.mark(of: identity.user),
            // It has no token that could have been revoked.
            issuedAt: now,
            userIsInteger: identity.isInteger
        )
        guard let who = isTrusted ? trusted : engine.who else { return }
        // The connect of a client with a token was counted when its token was verified.
        if isTrusted, let refusal = door.connects.refusal(of: who.user, at: now) {
            handle(.dismissed(code: 4429, reason: refusal.message), engine)
            return
        }
        let device = device ?? engine.device ?? who.device
        guard let phone = device ?? switchboard?.phone(opening: who).id else { return }
        let place = Places.Key(user: who.user, device: phone)
        engine.place = place
        engines.join(engine)
        feed(.joined(engine.id, who, device: device, seen: engines.places.seen(by: place)))
    }

    /// Ends the turn of the sessions that asked for it, when all inputs that arrived together have been handled.
    func turnEngines() {
        while !engines.unturned.isEmpty {
            var batch: [Engine] = []
            swap(&batch, &engines.unturned)
            for engine in batch {
                engine.needsTurn = false
                handle(.turned, engine)
            }
        }
    }

    /// Checks the deadlines that are due.
    func checkEngines() {
        while let engine = engines.lateStranger(at: now) { drop(engine, .late) }
        for engine in engines.due(at: now) { handle(.deadlineReached, engine) }
    }

    /// Closes the sessions that have not joined, which the switchboard does not know and so cannot close.
    func drainEngines() {
        for engine in engines.bySID.values where !engine.isJoined {
            handle(.dismissed(code: 1001, reason: "the server is shutting down; reconnect"), engine)
        }
    }

    // MARK: New ones

    /// Creates a session.
    ///
    /// If there are then too many unidentified sessions, it closes one of them.
    func makeEngine(_ beginning: EngineKnock.Beginning, isSocket: Bool) -> Engine {
        let session = SocketSession(
            names: (Self.name(bytes: 15), Self.name(bytes: 15), "s" + Self.name(bytes: 6)),
            version: beginning.version,
            isSocket: isSocket,
            credential: beginning.credential,
            trustsRegister: configuration.trustsRegister,
            at: now
        )
        let engine = Engine(session: session, id: engines.makeID(), beginning)
        engines.insert(engine, at: now)
        if let other = engines.strangerTooMany { drop(other, .crowded) }
        return engine
    }

    private func drop(_ stranger: Engine, _ reason: DroppedStrangers) {
        strangersDropped[reason, default: 0] += 1
        handle(.dismissed(code: 4401, reason: "nobody knows who this is"), stranger)
    }

    /// Returns an unpredictable name in the alphabet that is safe in addresses.
    private static func name(bytes: Int) -> String { Base64URL.encode(SecureRandom.bytes(bytes)) }
}

/// A token verifier that treats all tokens of a user without a device as one device of that user.
///
/// It is used where clients without a token may name their user themselves. Otherwise a session without a token and a
/// request with one could not be matched.
struct TrustingBouncer: Bouncer {
    let strict: any Bouncer

    func admit(_ token: String, atSeconds now: Int64) throws(WireError) -> Who {
        var who = try strict.admit(token, atSeconds: now)
        if !who.isService { who.mark = Self.mark(of: who.user) }
        return who
    }

    func admit(capability: String, atMilliseconds now: Int64) throws(WireError) -> Who {
        try strict.admit(capability: capability, atMilliseconds: now)
    }

    static func mark(of user: UserID) -> TokenMark { TokenMark(rawValue: SDP.digest(Array(user.text.utf8))) }
}
