import CallCore
import CallPorts
import CallTrace
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
        if let error = refusal(of: request, by: principal) ?? refusal(ofService: principal, request) {
            refuse(id, error)
            return
        }
        noteSignOfLife(of: principal, in: request)
        trace(from: .calls, .request(id, request.name, principal.user, request.callID))
        switch request {
        case .signal(let message): signal(message, by: principal, as: id)
        case .fetch(let callID, let fetch): self.fetch(callID, fetch, by: principal, as: id)
        case .end(let callID, let peer, let device):
            end(end(of: callID, with: peer, by: principal), device: device, asked: request, by: principal, as: id)
        case .history(let limit, let before):
            submit(.history(principal.user, limit: limit, before: before), for: .history(id, principal))
        case .callJustBegun(let peer): callJustBegun(with: peer, by: principal, as: id)
        case .call(let callID, let peer, let epoch):
            let call = calls.find(
                callID,
                for: principal.user,
                with: peer,
                on: deviceIdentity(asking: principal, named: nil)
            )
            let awaited = awaited(callID, for: principal.user, with: peer, besides: call)
            if !awaited.isEmpty {
                park(.request(id, principal, request), until: awaited)
            } else if let call, epoch ?? call.epoch == call.epoch {
                sendWhenDurable(.reply(id, Reply(body: CallView.details(call.record, for: principal))))
            } else {
                let users = (principal.isService ? [] : [principal.user]) + [peer].compactMap(\.self)
                let choice = CallSelector(
                    callID,
                    of: users,
                    epoch: epoch,
                    seenBy: principal.isService ? nil : principal.user
                )
                submit(.timeline(choice), for: .call(id, principal))
            }
        case .timeline(let callID, let peer, let epoch):
            // Other users may have used the callId too. A user who is not a service gets only the timeline of their own
            // call.
            let call = calls.find(callID, for: principal.user, with: peer)
            let found = peer ?? call?.key.pair.other(than: principal.user)
            let users = principal.isService ? [peer].compactMap(\.self) : [principal.user] + [found].compactMap(\.self)
            let choice = CallSelector(
                // A live call may be named by its `callUUID`.
                call?.key.id ?? callID,
                of: users,
                epoch: epoch,
                seenBy: principal.isService ? nil : principal.user
            )
            submit(.timeline(choice), for: .timeline(id, principal))
        case .register(let registration):
            noteUnknown(registration.unknownNames, at: .registration)
            register(registration, by: principal, as: id)
        case .devices: turn.out.append(.reply(id, Reply(body: DeviceView.list(directory.devices(of: principal.user)))))
        case .removeDevice(let device): removeDevice(device, by: principal, as: id)
        case .turnCredential: turnCredential(of: principal, as: id)
        case .webPushKey: webPushKey(as: id)
        case .blocks:
            let users = directory.blocks(of: principal.user).map(\.blocked)
            let numbers = directory.numbers.blocked(by: principal.user).sorted()
            let body = BlockBody.list(users, numbers, asIntegers: principal.userIsInteger)
            turn.out.append(.reply(id, Reply(body: body)))
        case .block(let user): block(user, by: principal, as: id)
        case .unblock(let user): unblock(user, by: principal, as: id)
        case .blockNumber(let number): block(number, by: principal, as: id)
        case .unblockNumber(let number): unblock(number, by: principal, as: id)
        case .numbers(let query): readNumbers(query, by: principal, as: id)
        case .updateNumbers(let owner, let update): updateNumbers(of: owner, update, by: principal, as: id)
        case .doNotDisturb(let until): doNotDisturb(until, by: principal, as: id)
        case .schedules(let asked, let user): schedules(asked, of: user, by: principal, as: id)
        case .revokeTokens(let user): revokeTokens(user, by: principal, as: id)
        }
    }

    /// Returns the refusal of a request that exceeds its user's rate; `nil` = the request is handled.
    ///
    /// Ends have a separate rate limit: an end that ends a call is always accepted.
    private mutating func refusal(of request: Request, by principal: Principal) -> WireError? {
        switch request {
        case .end(let callID, let peer, let device):
            return endRefusal(end(of: callID, with: peer, by: principal), by: principal.user, device, principal)
        case .signal(let message):
            if message.signal.kind == .end {
                return endRefusal(message, by: message.from ?? principal.user, message.device, principal)
            }
        case .fetch, .history, .callJustBegun, .call, .timeline, .register, .devices, .removeDevice, .turnCredential,
            .webPushKey, .blocks, .block, .unblock, .doNotDisturb, .schedules, .revokeTokens, .blockNumber,
            .unblockNumber, .numbers, .updateNumbers:
            break
        }
        // A service acts for all users: its rate is not limited.
        guard !principal.isService, !limits.requests.take(principal.user, at: turn.now) else { return nil }
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
        let named: DeviceID? =
            switch request {
            case .signal(let message): message.device
            case .fetch(_, let fetch): fetch.device
            case .end(_, _, let device): device
            case .history, .callJustBegun, .call, .timeline, .register, .devices, .removeDevice, .turnCredential,
                .webPushKey, .blocks, .block, .unblock, .doNotDisturb, .schedules, .revokeTokens, .blockNumber,
                .unblockNumber, .numbers, .updateNumbers:
                nil
            }
        let device = principal.deviceIdentity(named: named)
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
            isService: principal.isService
        )
        if !message.unknownNames.isEmpty { noteUnknown(message.unknownNames, at: .signal) }
        if tracesCalls { trace(message, from: source, by: .request(id)) }
        switch take(message, from: source) {
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
        device: DeviceID?,
        asked request: Request,
        by principal: Principal,
        as id: RequestID
    ) {
        let source = Source(
            user: principal.user,
            device: deviceIdentity(asking: principal, named: device),
            name: principal.name,
            transport: .request
        )
        switch take(message, from: source) {
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

    mutating func replyTimeline(
        _ record: CallRecord,
        _ events: [TimelineRecord],
        by principal: Principal,
        as id: RequestID
    ) {
        let body = TimelineView.body(
            record,
            withSignals(events, of: record),
            devices: directory.devices(of: record.callee),
            for: principal,
            at: turn.now
        )
        turn.out.append(.reply(id, Reply(body: body)))
    }
}
