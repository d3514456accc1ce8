import CallCore
import CallPorts
import CallTrace
import CallWire
import JSON

/// Requests received over HTTP.
extension Switchboard {
    mutating func requested(_ asked: Request, by who: Who, as id: RequestID, at now: Moment) {
        if isRevoked(who) {
            turn.out.append(.audit(.tokenRefused(cause: "revoked", who.user)))
            refuse(id, Self.revokedToken)
            return
        }
        if let scope = who.scope, calls[CallKey(id: scope.call, pair: Pair(who.user, scope.peer))] == nil {
            let asleep = asleep(scope.call, for: who.user, with: scope.peer, unless: nil)
            if !asleep.isEmpty {
                park(.request(id, who, asked), until: asleep, at: now)
                return
            }
        }
        let request: Request
        do throws(WireError) { request = try narrowed(asked, to: who.scope, of: who.user) } catch {
            refuse(id, error)
            return
        }
        if let error = refusal(of: request, by: who, at: now) {
            refuse(id, error)
            return
        }
        showLife(of: who, in: request, at: now)
        trace(from: .calls, .request(id, request.name, who.user, request.callID))
        switch request {
        case .signal(let message): signal(message, by: who, as: id, at: now)
        case .fetch(let callID, let fetch): self.fetch(callID, fetch, by: who, as: id, at: now)
        case .end(let callID, let peer, let device):
            end(end(of: callID, with: peer, by: who), device: device, asked: request, by: who, as: id, at: now)
        case .history(let limit, let before):
            ask(.history(who.user, limit: limit, before: before), for: .history(id, who), at: now)
        case .record(let peer): record(with: peer, by: who, as: id, at: now)
        case .call(let callID, let peer, let epoch):
            let call = calls.find(callID, for: who.user, with: peer, on: phone(asking: who, named: nil))
            let asleep = asleep(callID, for: who.user, with: peer, unless: call)
            if !asleep.isEmpty {
                park(.request(id, who, request), until: asleep, at: now)
            } else if let call, epoch ?? call.session.epoch == call.session.epoch {
                say(.reply(id, Reply(body: CallView.details(call.record, for: who))), at: now)
            } else {
                let users = [who.user] + [peer].compactMap(\.self)
                let choice = CallChoice(callID, of: users, epoch: epoch, seenBy: who.isService ? nil : who.user)
                ask(.timeline(choice), for: .call(id, who), at: now)
            }
        case .timeline(let callID, let peer, let epoch):
            // Other users may have used the callId too. The user gets the timeline of their own call nevertheless.
            let found = peer ?? calls.find(callID, for: who.user)?.key.pair.other(than: who.user)
            let users = who.isService ? [peer].compactMap(\.self) : [who.user] + [found].compactMap(\.self)
            let choice = CallChoice(callID, of: users, epoch: epoch, seenBy: who.isService ? nil : who.user)
            ask(.timeline(choice), for: .timeline(id, who), at: now)
        case .register(let registration): register(registration, by: who, as: id, at: now)
        case .devices: turn.out.append(.reply(id, Reply(body: DeviceView.list(directory.devices(of: who.user)))))
        case .removeDevice(let device): removeDevice(device, by: who, as: id, at: now)
        case .relayCredential: relayCredential(of: who, as: id, at: now)
        case .blocks:
            let blocked = directory.blocks(of: who.user).map(\.blocked)
            turn.out.append(.reply(id, Reply(body: BlockBody.list(blocked, asIntegers: who.userIsInteger))))
        case .block(let user): block(user, by: who, as: id, at: now)
        case .unblock(let user): unblock(user, by: who, as: id, at: now)
        case .doNotDisturb(let until): doNotDisturb(until, by: who, as: id, at: now)
        case .logOutEverywhere(let user): logOutEverywhere(user, by: who, as: id, at: now)
        }
    }

    /// Returns the refusal of a request that exceeds its rate; `nil` = the request is handled.
    ///
    /// Ends have a separate rate limit: an end that ends a call is always accepted.
    private mutating func refusal(of request: Request, by who: Who, at now: Moment) -> WireError? {
        switch request {
        case .end(let callID, let peer, let device):
            return endRefusal(end(of: callID, with: peer, by: who), by: who.user, device, who, at: now)
        case .signal(let message):
            if message.signal.kind == .end {
                return endRefusal(message, by: message.from ?? who.user, message.device, who, at: now)
            }
        case .fetch, .history, .record, .call, .timeline, .register, .devices, .removeDevice, .relayCredential, .blocks,
            .block,
            .unblock, .doNotDisturb, .logOutEverywhere:
            break
        }
        // A service acts for all users: its rate is not limited.
        guard !who.isService, !limits.requests.take(who.user, at: now) else { return nil }
        return WireError(.rateLimited, "at most \(policy.signalsPerSecond) requests a second")
    }

    private mutating func endRefusal(
        _ message: SignalMessage,
        by user: UserID,
        _ device: DeviceID?,
        _ who: Who,
        at now: Moment
    ) -> WireError? {
        if who.isService || mayEnd(message, by: user, who.phone(named: device), at: now) { return nil }
        return WireError(.rateLimited, "at most \(policy.endsPerSecond) ends a second")
    }

    /// Records the sign of life of the device that a request names, or of the user's devices without an id.
    private mutating func showLife(of who: Who, in request: Request, at now: Moment) {
        guard !who.isService else { return }
        let named: DeviceID? =
            switch request {
            case .signal(let message): message.device
            case .fetch(_, let fetch): fetch.device
            case .end(_, _, let device): device
            case .history, .record, .call, .timeline, .register, .devices, .removeDevice, .relayCredential, .blocks,
                .block, .unblock,
                .doNotDisturb, .logOutEverywhere:
                nil
            }
        let phone = who.phone(named: named)
        showsLife(phone, of: who.user, isNamed: !phone.isUnnamed, at: now)
    }

    private mutating func signal(_ message: SignalMessage, by who: Who, as id: RequestID, at now: Moment) {
        if let from = message.from, from != who.user, !who.isService {
            refuse(id, WireError(.forbidden, "from: only a service token may set it", field: Field.from.name))
            return
        }
        let source = Source(
            user: message.from ?? who.user,
            phone: phone(asking: who, named: message.device),
            name: who.name,
            way: .request,
            isService: who.isService
        )
        if tracesCalls { trace(message, from: source, by: .request(id)) }
        switch take(message, from: source, at: now) {
        case .failure(let error):
            if let awaited = takeAwaited() {
                park(.request(id, who, .signal(message)), until: awaited, at: now)
            } else {
                refuse(id, error)
            }
        case .success(let receipt):
            showLife(of: source.phone, of: source.user, in: receipt.call, at: now)
            reply(receipt, to: source, as: id, at: now)
        }
    }

    private mutating func end(
        _ message: SignalMessage,
        device: DeviceID?,
        asked request: Request,
        by who: Who,
        as id: RequestID,
        at now: Moment
    ) {
        let source = Source(user: who.user, phone: phone(asking: who, named: device), name: who.name, way: .request)
        switch take(message, from: source, at: now) {
        case .failure(let error):
            if let awaited = takeAwaited() {
                park(.request(id, who, request), until: awaited, at: now)
            } else {
                refuse(id, error)
            }
        case .success(let receipt): reply(receipt, to: source, as: id, at: now)
        }
    }

    private mutating func reply(_ receipt: Receipt, to source: Source, as id: RequestID, at now: Moment) {
        let session = receipt.call.session
        if tracesCalls { traceAcknowledged(receipt, to: .request(id)) }
        let standing =
            receipt.taken.map { (CallState.ended, $0.reason) }
            ?? session.side(of: source.user).map {
                session.standing(side: $0, phone: session.standIn(for: source.phone, on: $0))
            }
        var json = JSONWriter()
        json.beginObject()
        json.name("ok")
        json.value(true)
        json.name("callId")
        json.plain(session.key.id.text)
        json.name("epoch")
        json.value(receipt.epoch)
        json.name("seq")
        json.value(receipt.seq)
        json.write(
            StateChange(
                standing?.0 ?? session.state,
                reason: standing?.1,
                replacedBy: receipt.outcome?.replacedBy
            )
        )
        json.endObject()
        say(.reply(id, Reply(body: json.bytes)), at: now)
    }

    mutating func replyTimeline(_ record: CallRecord, _ events: [TimelineRecord], by who: Who, as id: RequestID) {
        turn.out.append(.reply(id, Reply(body: TimelineView.body(record, withSignals(events, of: record), for: who))))
    }

    /// Adds the signals from the log of a call that can still be fetched; an older call's timeline already contains its
    /// signals.
    private func withSignals(_ events: [TimelineRecord], of record: CallRecord) -> [TimelineRecord] {
        guard let call = calls[record.number] else { return events }
        let all = call.session.log.compactMap { TimelineRecord($0) } + events
        return all.indices.sorted { (all[$0].at, $0) < (all[$1].at, $1) }.map { all[$0] }
    }
}
