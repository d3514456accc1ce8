import CallCore
import CallPorts
import CallWire
import JSON

/// Frames received on connections.
extension Switchboard {
    mutating func received(_ frame: [UInt8], from id: SessionID, at now: Moment) {
        guard let session = connections[id] else { return }
        heard(session, at: now)
        var scratch: [JSONObject.Member] = []
        swap(&scratch, &turn.scratch)
        let message: ClientMessage
        do throws(ClientMessage.Refusal) {
            message = try ClientMessage(frame, ringFor: policy.ringFor, scratch: consume scratch)
        } catch {
            refuse(error, from: session, at: now)
            return
        }
        defer { turn.scratch = message.scratch }
        session.bad = 0
        guard isWithinRate(message, from: session, at: now) else { return }
        switch message.request {
        case .signal(let signal): take(signal, id: message.id, from: session, at: now)
        case .join(let room): enter(room, session, id: message.id, at: now)
        case .leave(let room): leave(room, session, id: message.id, at: now)
        case .auth(let token): turn.out.append(.verify(id, id: message.id, token: token))
        case .sync(let cursors): sync(cursors, session, id: message.id, at: now)
        case .message(let text): relay(text, from: session, id: message.id, at: now)
        case .presence(let user): watch(user, session, id: message.id, at: now)
        }
    }

    /// Handles a signal that was received on a connection.
    mutating func take(_ signal: SignalMessage, id: SignalID?, from session: Session, at now: Moment) {
        let source = Source(
            user: session.user,
            phone: session.phone,
            name: session.who.name,
            way: .session,
            isService: session.who.isService
        )
        if tracesCalls { trace(signal, from: source, by: .connection(session.id)) }
        switch take(signal, from: source, at: now) {
        case .success(let receipt): acknowledge(receipt, id: id, to: session, at: now)
        case .failure(let error):
            if let awaited = takeAwaited() {
                park(.signal(signal, id: id, session), until: awaited, at: now)
            } else {
                tell(error, id: id, callID: signal.callID, to: session)
            }
        }
    }

    private mutating func refuse(_ refusal: ClientMessage.Refusal, from session: Session, at now: Moment) {
        tell(refusal.error, id: refusal.id, to: session)
        if refusal.error.code == .invalidJSON {
            session.bad += 1
            if session.bad >= policy.badFrames {
                close(session.id, code: 4400, "too many frames in a row that are not JSON")
                closed(session.id, at: now)
            }
        } else {
            session.bad = 0
            countAgainstRate(session, at: now)
        }
    }

    /// Whether a connection is within its rate.
    ///
    /// A hang-up must always get through, so ends have a separate limit.
    private mutating func isWithinRate(_ message: ClientMessage, from session: Session, at now: Moment) -> Bool {
        let limit: Int
        if case .signal(let signal) = message.request, case .end = signal.content {
            guard !mayEnd(signal, by: session.user, session.phone, at: now) else { return true }
            limit = policy.endsPerSecond
        } else {
            guard !session.bucket.take(at: now) else { return true }
            limit = policy.signalsPerSecond
        }
        tell(WireError(.rateLimited, "at most \(limit) a second"), id: message.id, to: session)
        _ = closesAsTooFast(session, at: now)
        return false
    }

    /// Counts a refused frame towards the rate: refusing costs as much as accepting.
    private mutating func countAgainstRate(_ session: Session, at now: Moment) {
        if !session.bucket.take(at: now) { _ = closesAsTooFast(session, at: now) }
    }

    private mutating func acknowledge(_ receipt: Receipt, id: SignalID?, to session: Session, at now: Moment) {
        // A sender that gave no id still receives the callId that the server made for its offer.
        guard let id = id ?? (receipt.madeCallID ? SignalID(receipt.call.key.id.text) : nil) else { return }
        let frame = ServerFrame.ack(
            id: id,
            callID: receipt.call.key.id,
            epoch: receipt.epoch,
            seq: receipt.seq,
            outcome: receipt.outcome
        )
        if tracesCalls { traceAcknowledged(receipt, to: .connection(session.id)) }
        say(.frame(session.id, frame), at: now)
    }

    mutating func verified(_ result: Result<Who, WireError>, for id: SessionID, id name: SignalID?, at now: Moment) {
        guard let session = connections[id] else { return }
        switch result {
        case .success(let who) where isRevoked(who): tell(Self.revokedToken, id: name, to: session)
        case .success(let who) where who.user == session.user:
            session.who = who
            takeMark(of: who, session, at: now)
            leaveLostGroups(session)
            scheduleCheckUp(of: session)
            if let name { turn.out.append(.send(id, ServerFrame.ack(id: name))) }
        case .success:
            tell(WireError(.forbidden, "token: belongs to another user", field: "token"), id: name, to: session)
        case .failure(let error): tell(error, id: name, to: session)
        }
    }

    /// Gives a connection's device the mark of its renewed token.
    ///
    /// The device will reconnect and send requests under the new token, so its calls must identify it by the new one. A
    /// device without an id, which is identified by its token, keeps the old mark for as long as its client stays
    /// connected.
    private mutating func takeMark(of who: Who, _ session: Session, at now: Moment) {
        let old = session.phone
        guard !old.isUnnamed, old.mark != who.mark else { return }
        session.phone = Phone(id: old.id, mark: who.mark)
        for call in calls.live(of: session.user) {
            guard let side = call.session.side(of: session.user) else { continue }
            goesOn(old, as: session.phone, in: call, side, at: now)
            drive(call, .seen(session.phone, side), at: now)
        }
    }
}
