import CallCore
import CallPorts
import CallWire

/// Requests received over HTTP.
extension Switchboard {
    mutating func requested(_ asked: Request, by principal: Principal, as id: RequestID) {
        if isRevoked(principal) {
            turn.out.append(.audit(.tokenRefused(cause: "revoked", principal.user)))
            refuse(id, Self.revokedToken)
            return
        }
        if let scope = principal.scope, calls[CallKey(id: scope.call, pair: Pair(principal.user, scope.peer))] == nil {
            let awaited = awaited(scope.call, for: principal.user, with: scope.peer, besides: nil)
            if !awaited.isEmpty {
                park(.request(id, principal, asked), until: awaited)
                return
            }
        }
        let request: Request
        do throws(WireError) { request = try restricted(asked, to: principal.scope, of: principal.user) } catch {
            refuse(id, error)
            return
        }
        let end = endMessage(of: request, by: principal)
        if let error = refusal(of: request, end, by: principal) ?? refusal(ofService: principal, request) {
            refuse(id, error)
            return
        }
        noteSignOfLife(of: principal, in: request)
        trace(from: .calls, .request(id, request.name, principal.user, request.callID))
        if let end {
            self.end(end, asked: request, by: principal, as: id)
        } else {
            carryOut(request, by: principal, as: id)
        }
    }

    /// Returns the signal that a request to end a call stands for; `nil` for every other request.
    private func endMessage(of request: Request, by principal: Principal) -> SignalMessage? {
        guard case .end(let callID, let peer, _) = request else { return nil }
        return end(of: callID, with: peer, by: principal)
    }

    private mutating func carryOut(_ request: Request, by principal: Principal, as id: RequestID) {
        switch request {
        case .signal(let message): signal(message, by: principal, as: id)
        case .fetch(let callID, let fetch): self.fetch(callID, fetch, by: principal, as: id)
        // It is carried out as the signal that it stands for.
        case .end: break
        case .calls(let asked): readCalls(asked, by: principal, as: id)
        case .devices(let asked): devices(asked, by: principal, as: id)
        case .blocks(let asked): blocks(asked, by: principal, as: id)
        case .numbers(let asked): numbers(asked, by: principal, as: id)
        case .schedules(let asked, let user): schedules(asked, of: user, by: principal, as: id)
        case .credentials(let asked): credentials(asked, by: principal, as: id)
        case .feed(let feed): readFeed(feed, by: principal, as: id)
        }
    }

    /// Returns the refusal of a request that exceeds its user's rate; `nil` = the request is handled.
    ///
    /// Ends have a separate rate limit: an end that ends a call is always accepted.
    private mutating func refusal(
        of request: Request,
        _ end: SignalMessage?,
        by principal: Principal
    ) -> WireError? {
        if let end { return endRefusal(end, by: principal.user, request.device, principal) }
        if case .signal(let message) = request, message.signal.kind == .end {
            return endRefusal(message, by: message.from ?? principal.user, message.device, principal)
        }
        // A service acts for all users: its rate is not limited. A request that has waited for a decision was counted.
        let isCounted = principal.isService || queries.decisions.current != nil
        guard !isCounted, !limits.requests.admit(principal.user, at: turn.now) else { return nil }
        return exceeded(.requests, "at most \(policy.signalsPerSecond) requests a second")
    }

    private mutating func endRefusal(
        _ message: SignalMessage,
        by user: UserID,
        _ device: DeviceID?,
        _ principal: Principal
    ) -> WireError? {
        if principal.isService || mayEnd(message, by: user, principal.deviceIdentity(named: device)) {
            return nil
        }
        return exceeded(.ends, "at most \(policy.endsPerSecond) ends a second")
    }

    /// Records a sign of life: of the device that a request names or, if it names none, of the user's devices without
    /// an id.
    private mutating func noteSignOfLife(of principal: Principal, in request: Request) {
        guard !principal.isService else { return }
        let device = principal.deviceIdentity(named: request.device)
        noteSignOfLife(device, of: principal.user, isNamed: !device.isUnnamed)
    }

    private mutating func signal(_ message: SignalMessage, by principal: Principal, as id: RequestID) {
        if let from = message.from, from != principal.user, !principal.isService {
            refuse(id, WireError(.forbidden, "from: only a service token may set it", field: Field.from.name))
            return
        }
        let source = Source(
            user: message.from ?? principal.user,
            device: deviceIdentity(asking: principal, named: message.device),
            name: principal.name,
            transport: .request,
            isService: principal.isService,
            claims: principal.claims
        )
        if !message.unknownNames.isEmpty { noteUnknown(message.unknownNames, at: .signal) }
        if tracesCalls { trace(message, from: source, by: .request(id)) }
        switch acceptSignal(message, from: source) {
        case .failure(let error):
            if let awaited = takeAwaited() {
                park(.request(id, principal, .signal(message)), until: awaited)
            } else {
                refuseSignal(error, as: id)
            }
        case .success(let receipt):
            notePresence(of: source.device, of: source.user, in: receipt.call)
            reply(receipt, to: source, as: id)
        }
    }

    private mutating func end(
        _ message: SignalMessage,
        asked request: Request,
        by principal: Principal,
        as id: RequestID
    ) {
        let source = Source(
            user: principal.user,
            device: deviceIdentity(asking: principal, named: request.device),
            name: principal.name,
            transport: .request
        )
        switch acceptSignal(message, from: source) {
        case .failure(let error):
            if let awaited = takeAwaited() {
                park(.request(id, principal, request), until: awaited)
            } else {
                refuseSignal(error, as: id)
            }
        case .success(let receipt): reply(receipt, to: source, as: id)
        }
    }

    private mutating func reply(_ receipt: Receipt, to source: Source, as id: RequestID) {
        let session = receipt.call.session
        if tracesCalls { traceAcknowledged(receipt, to: .request(id)) }
        let visible =
            receipt.earlier.map { (CallState.ended, $0.reason) }
            ?? session.side(of: source.user).map {
                session.visibleState(side: $0, device: session.actingDevice(for: source.device, on: $0))
            }
        let state = StateChange(
            visible?.0 ?? session.state,
            reason: visible?.1,
            replacedBy: receipt.outcome?.replacedBy
        )
        let body = AcceptedBody.signal(session.key.id, epoch: receipt.epoch, seq: receipt.seq, state)
        sendWhenDurable(.reply(id, Reply(body: body)))
    }
}
