import CallCore
import CallPorts
import CallWire
import JSON

/// Frames received on connections.
extension Switchboard {
    mutating func frameReceived(_ frame: [UInt8], from id: SocketID) {
        guard let connection = connections[id] else { return }
        heard(connection)
        guard let message = parse(frame, from: connection) else { return }
        messageReceived(message, from: connection)
    }

    /// Parses a frame; `nil` if it was refused.
    private mutating func parse(_ frame: [UInt8], from connection: Connection) -> ClientMessage? {
        var scratch: [JSONObject.Member] = []
        swap(&scratch, &turn.scratch)
        do throws(ClientMessage.Refusal) {
            return try ClientMessage(frame, ringTimeout: policy.ringTimeout, scratch: consume scratch)
        } catch {
            refuse(error, from: connection)
            return nil
        }
    }

    private mutating func messageReceived(_ message: consuming ClientMessage, from connection: Connection) {
        connection.badFrames = 0
        if !message.unknownNames.isEmpty {
            noteUnknown(message.unknownNames, at: connection.isStateless ? .socketIO : .webSocket)
        }
        if message.isSignal { return handleSignal(message.takeRequest(), from: connection) }
        let id = message.id
        guard connection.bucket.admit(at: turn.now) else {
            refuseAsTooFast(id, .frames, policy.signalsPerSecond, connection)
            return
        }
        switch message.takeRequest() {
        case .signal: preconditionFailure("a signal was handled above")
        case .join(let room): enter(room, connection, id: id)
        case .leave(let room): leave(room, connection, id: id)
        case .auth(let token):
            beginPendingFrame(connection)
            turn.out.append(.verify(connection.id, id: id, token: token))
        case .sync(let cursors): sync(cursors, connection, id: id)
        case .message(let text): relay(text, from: connection, id: id)
        case .presence(let user): watch(user, connection, id: id)
        case .watch(let callID, let user): watchTimelines(of: callID, user, connection, id: id)
        }
    }

    /// Handles a signal, whose `id` is that of its message.
    private mutating func handleSignal(_ request: consuming ClientMessage.Request, from connection: Connection) {
        switch consume request {
        case .signal(let signal):
            if isWithinRate(signal, from: connection) { signalReceived(signal, id: signal.id, from: connection) }
            turn.scratch = signal.scratch
        default: break
        }
    }

    /// Handles a signal that was received on a connection.
    mutating func signalReceived(_ signal: SignalMessage, id: SignalID?, from connection: Connection) {
        let source = connection.source
        if tracesCalls { trace(signal, from: source, by: .connection(connection.id)) }
        switch acceptSignal(signal, from: source) {
        case .success(let receipt): acknowledge(receipt, id: id, to: connection)
        case .failure(let error):
            if let awaited = takeAwaited() {
                beginPendingFrame(connection)
                park(.signal(signal, id: id, connection), until: awaited)
            } else {
                refuseSignal(error, id: id, signal.callID, to: connection)
            }
        }
    }

    private mutating func refuse(_ refusal: ClientMessage.Refusal, from connection: Connection) {
        tell(refusal.error, id: refusal.id, to: connection)
        if refusal.error.code == .invalidJSON {
            connection.badFrames += 1
            if connection.badFrames >= policy.badFrames {
                close(connection.id, code: 4400, "too many frames in a row that are not JSON")
                closed(connection.id)
            }
        } else {
            connection.badFrames = 0
            countAgainstRate(connection)
        }
    }

    /// Returns whether a signal is within the rate of its connection; otherwise the signal is refused.
    ///
    /// A hang-up must always get through, so `end` signals have a separate limit.
    private mutating func isWithinRate(_ signal: SignalMessage, from connection: Connection) -> Bool {
        if case .end = signal.content {
            if mayEnd(signal, by: connection.user, connection.device) { return true }
            refuseAsTooFast(signal.id, .ends, policy.endsPerSecond, connection)
            return false
        }
        if connection.bucket.admit(at: turn.now) { return true }
        refuseAsTooFast(signal.id, .frames, policy.signalsPerSecond, connection)
        return false
    }

    private mutating func refuseAsTooFast(
        _ id: SignalID?,
        _ limit: Metrics.Limited.Limit,
        _ perSecond: Int,
        _ connection: Connection
    ) {
        tell(exceeded(limit, "at most \(perSecond) a second"), id: id, to: connection)
        _ = closesAsTooFast(connection)
    }

    /// Counts a refused frame towards the rate: refusing costs as much as accepting.
    private mutating func countAgainstRate(_ connection: Connection) {
        if !connection.bucket.admit(at: turn.now) { _ = closesAsTooFast(connection) }
    }

    private mutating func acknowledge(_ receipt: Receipt, id: SignalID?, to connection: Connection) {
        // A sender that gave no id still receives the callId that the server made for its offer.
        guard let id = id ?? (receipt.madeCallID ? SignalID(receipt.call.key.id.text) : nil) else { return }
        let frame =
            if receipt.earlier == nil, receipt.seq > 0 {
                if let outcome = receipt.outcome {
                    ServerFrame.ack(
                        id: id,
                        in: receipt.call.encodedLogIdentity,
                        seq: receipt.seq,
                        outcome: outcome
                    )
                } else {
                    ServerFrame.ack(id: id, in: receipt.call.encodedLogIdentity, seq: receipt.seq)
                }
            } else {
                ServerFrame.ack(
                    id: id,
                    callID: receipt.call.key.id,
                    epoch: receipt.epoch,
                    seq: receipt.seq,
                    outcome: receipt.outcome
                )
            }
        if tracesCalls { traceAcknowledged(receipt, to: .connection(connection.id)) }
        sendWhenDurable(.frame(connection.id, frame))
    }

    mutating func verified(_ result: Result<Principal, WireError>, for id: SocketID, id name: SignalID?) {
        guard let connection = connections[id] else { return }
        defer { endPendingFrame(connection) }
        switch result {
        case .success(let principal) where isRevoked(principal): tell(Self.revokedToken, id: name, to: connection)
        case .success(let principal) where principal.user == connection.user:
            connection.principal = principal
            connection.hasRenewedToken = true
            adoptFingerprint(of: principal, connection)
            leaveLostGroups(connection)
            if !principal.isService { endWatch(of: connection) }
            scheduleCheckUp(of: connection)
            if let name { turn.out.append(.send(id, ServerFrame.ack(id: name))) }
        case .success:
            tell(WireError(.forbidden, "token: belongs to another user", field: "token"), id: name, to: connection)
        case .failure(let error): tell(error, id: name, to: connection)
        }
    }

    /// Gives a connection's device the fingerprint of its renewed token.
    ///
    /// The device will reconnect and send requests under the new token, so its calls must identify it by the new one. A
    /// device without an id, which is identified by its token, keeps the old fingerprint for as long as its client
    /// stays connected.
    private mutating func adoptFingerprint(of principal: Principal, _ connection: Connection) {
        let old = connection.device
        guard !old.isUnnamed, old.fingerprint != principal.fingerprint else { return }
        connection.device = DeviceIdentity(id: old.id, fingerprint: principal.fingerprint)
        for call in calls.live(of: connection.user) {
            guard let side = call.side(of: connection.user) else { continue }
            renameDevice(old, as: connection.device, in: call, side)
            process(call, .seen(connection.device, side))
        }
    }
}
