import CallCore
import CallWire
import JSON

/// Handles what a model client receives: by socket, by push, and by fetch.
extension ModelClient {
    func take(_ object: JSONObject, _ frame: [UInt8], at now: Moment, into outputs: inout [CoreOutput]) {
        guard let type = object.text(of: .type) else { return }
        switch type {
        case "ack": if let id = object.text(of: .id) { acknowledged(id, object, at: now, into: &outputs) }
        case "error":
            if let id = object.text(of: .id) { refused(id, object.text(of: .code) ?? "", at: now, into: &outputs) }
        case "call": entry(nil, object, frame, at: now, into: &outputs)
        default: if let kind = SignalKind(rawValue: type) { entry(kind, object, frame, at: now, into: &outputs) }
        }
    }

    /// Handles one entry of a call's log, from the socket or from a fetch.
    func entry(
        _ kind: SignalKind?,
        _ object: JSONObject,
        _ frame: [UInt8],
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        guard let id = object.text(of: .callId).flatMap({ CallID($0) }), let room = object.text(of: .room),
            let peer = MessageReader.peer(inRoom: room, of: user),
            let seq = object.number(of: .seq).map({ UInt64($0) }),
            let epoch = object.number(of: .epoch).map({ UInt32(truncatingIfNeeded: $0) })
        else { return }
        let key = CallKey(id: id, pair: Pair(user, peer))
        var index = table.lastIndex { $0.view.name.key == key }
        if let known = index {
            if table[known].view.name.epoch == 0 {
                // A refused call never gets an epoch, so this entry belongs to another call under the same callId.
                let isRefused = table[known].view.phase == .ended && table[known].outbox.isEmpty
                guard isRefused else {
                    guard table[known].held.count < 2 * Limits.logSignals else { return }
                    table[known].held.append(frame)
                    return
                }
                guard epoch > past[key] ?? 0 else { return }
                index = table.lastIndex { $0.view.name.key == key && $0.view.name.epoch == epoch }
            } else if epoch < table[known].view.name.epoch {
                takeOlder(epoch, known, kind, object, into: &outputs)
                return
            } else if epoch > table[known].view.name.epoch {
                finish(known, .replaced, .told, at: now, into: &outputs)
                index = nil
            }
        }
        if index == nil { index = begin(kind, key, peer, epoch, object, at: now, into: &outputs) }
        guard let index else { return }
        guard seq > table[index].lastSeq else {
            if kind == nil { endAgain(index, object, at: now, into: &outputs) }
            return
        }
        table[index].lastSeq = seq
        if let kind {
            signal(kind, index, seq, object, at: now, into: &outputs)
        } else {
            state(index, object, at: now, into: &outputs)
        }
    }

    /// Ends an earlier call under the same callId once more.
    ///
    /// The call is over for this device but live on the server, because a crash has lost its end.
    func takeOlder(
        _ epoch: UInt32,
        _ index: Int,
        _ kind: SignalKind?,
        _ object: JSONObject,
        into outputs: inout [CoreOutput]
    ) {
        guard kind == nil, object.text(of: .state) != "ended", table[index].view.phase == .ended else { return }
        count += 1
        outputs.append(
            .transmit(
                Outgoing(
                    kind: .end,
                    id: prefix + String(count),
                    callID: table[index].view.name.id,
                    peer: table[index].peer,
                    epoch: epoch,
                    fields: "",
                    tries: 1
                )
            )
        )
    }

    /// Adds a call that is new to this device, or one that its app has forgotten.
    func begin(
        _ kind: SignalKind?,
        _ key: CallKey,
        _ peer: UserID,
        _ epoch: UInt32,
        _ object: JSONObject,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) -> Int? {
        let name = CallName(id: key.id, pair: key.pair, epoch: epoch)
        if kind == .offer, object.text(of: .from) == peer.text, let until = object.number(of: .ringUntil) {
            ring(name, peer, for: until - (object.number(of: .ts) ?? until), at: now, into: &outputs)
            return table.count - 1
        }
        if kind == nil, object.text(of: .state) == "ended" { return nil }
        // The call is live on the server, but this app has forgotten it, so its media is gone.
        var call = Call(view: CoreCall(name: name, isCaller: kind == nil, phase: .talking), peer: peer)
        call.offerIsKnown = true
        table.append(call)
        finish(table.count - 1, .failed, .late, at: now, into: &outputs)
        send(.end, "\"reason\":\"failed\"", in: table.count - 1, at: now, into: &outputs)
        return table.count - 1
    }

    func ring(
        _ name: CallName,
        _ peer: UserID,
        for milliseconds: Int64,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        var call = Call(view: CoreCall(name: name, isCaller: false, phase: .ringing), peer: peer)
        call.until = now + .milliseconds(max(0, milliseconds) + 5_000)
        call.offerIsKnown = true
        forgetUses(of: name.key)
        table.append(call)
        outputs.append(.report(.rang(name)))
        send(.ringing, "", in: table.count - 1, at: now, into: &outputs)
    }

    func signal(
        _ kind: SignalKind,
        _ index: Int,
        _ seq: UInt64,
        _ object: JSONObject,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        let from = object.text(of: .fromDevice) ?? ""
        let id = object.text(of: .id)
        if let id, !table[index].seen.insert("\(from) \(id)").inserted { return }
        let name = table[index].view.name
        let delivery = Delivery(seq: seq, kind: kind, device: from, id: id)
        if kind == .ice, !table[index].describedDevices.contains(from) {
            table[index].early.append(delivery)
            return
        }
        outputs.append(.report(.delivered(name, delivery)))
        if kind == .offer || kind == .answer {
            table[index].describedDevices.insert(from)
            let early = table[index].early
            table[index].early.removeAll { $0.device == from }
            for one in early where one.device == from { outputs.append(.report(.delivered(name, one))) }
        }
        if kind == .answer, table[index].view.phase == .calling {
            table[index].view.answeredBy = from
        }
    }

    func state(_ index: Int, _ object: JSONObject, at now: Moment, into outputs: inout [CoreOutput]) {
        let answeringDevice = object.inner(of: .answeredBy)?.text(of: .device)
        switch object.text(of: .state) {
        case "answered", "active":
            guard let answeringDevice else { return }
            if table[index].view.phase == .ended { return endAgain(index, object, at: now, into: &outputs) }
            if !table[index].view.isCaller, answeringDevice != device.text { return }
            if !table[index].view.isCaller, table[index].view.phase == .ringing {
                // This app answered the call before it lost its state, so its media is gone.
                finish(index, .failed, .late, at: now, into: &outputs)
                send(.end, "\"reason\":\"failed\"", in: index, at: now, into: &outputs)
                return
            }
            startTalking(index, with: answeringDevice, at: now, into: &outputs)
        case "ended":
            let reason = object.text(of: .reason).flatMap { EndReason(rawValue: $0) }
            let replacedBy = object.text(of: .replacedBy).flatMap { CallID($0) }
            // An `end` that this device has sent stays in its outbox until the ack, because the state `ended` may not
            // be durable yet.
            finish(index, reason, .told, replacedBy: replacedBy, at: now, into: &outputs)
        default: endAgain(index, object, at: now, into: &outputs)
        }
    }

    /// Sends another end for a call that ended here but is live on the server with this device in it.
    ///
    /// A crash has lost the first end, which was relayed before it was durable. The event with the live state may have
    /// a `seq` that was received before.
    private func endAgain(_ index: Int, _ object: JSONObject, at now: Moment, into outputs: inout [CoreOutput]) {
        guard table[index].view.phase == .ended, table[index].outbox.isEmpty, object.text(of: .state) != "ended" else {
            return
        }
        let answeringDevice = object.inner(of: .answeredBy)?.text(of: .device)
        if table[index].view.isCaller || answeringDevice == device.text {
            send(.end, "", in: index, at: now, into: &outputs)
        }
    }

    func woken(by payload: [UInt8], at now: Moment, into outputs: inout [CoreOutput]) {
        guard let object = MessageReader.object(payload), let id = object.text(of: .callId).flatMap({ CallID($0) }),
            let peer = object.text(of: .fromUserId).flatMap({ UserID($0) }),
            let epoch = MessageReader.number(.epoch, in: object).map({ UInt32(truncatingIfNeeded: $0) }),
            let until = MessageReader.number(.ringUntil, in: object),
            let sentAt = MessageReader.number(.sentAt, in: object)
        else { return }
        let name = CallName(id: id, pair: Pair(user, peer), epoch: epoch)
        if let index = table.lastIndex(where: { $0.view.name.key == name.key }) {
            // The push is for the known call, or for an older one. Epoch 0 means that this device does not know the
            // epoch of its own call under that callId yet.
            if table[index].view.name.epoch == 0 || table[index].view.name.epoch >= epoch { return }
            finish(index, .replaced, .told, at: now, into: &outputs)
        }
        ring(name, peer, for: until - sentAt, at: now, into: &outputs)
        if now.milliseconds > until {
            finish(table.count - 1, .unanswered, .late, at: now, into: &outputs)
            table[table.count - 1].outbox = []
            return
        }
        outputs.append(.fetch(id, peer: nil, since: 0, epoch: epoch, number: 0, capability: nil))
    }

    func fetched(
        _ id: CallID,
        _ status: Int,
        _ body: [UInt8],
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        guard let object = MessageReader.object(body) else { return }
        guard status == 200 else {
            guard status == 404 else { return }
            // The server does not know the call, or no longer knows it.
            for index in table.indices where table[index].view.name.id == id && table[index].offerIsKnown {
                let isOver = table[index].view.phase == .ended
                finish(index, nil, .refused, at: now, into: &outputs)
                // The fetch may have overtaken the offer.
                if !isOver { send(.end, "", in: index, at: now, into: &outputs) }
            }
            return
        }
        for element in object.elements(of: .signals) {
            let frame = Frame(element).bytes
            if let inner = MessageReader.object(element), let type = inner.text(of: .type) {
                entry(SignalKind(rawValue: type), inner, frame, at: now, into: &outputs)
            }
        }
        guard let room = object.text(of: .room), let peer = MessageReader.peer(inRoom: room, of: user) else { return }
        let key = CallKey(id: id, pair: Pair(user, peer))
        let epoch = UInt32(truncatingIfNeeded: object.number(of: .epoch) ?? 0)
        guard let index = table.lastIndex(where: { $0.view.name.key == key }), table[index].view.name.epoch > 0 else {
            return
        }
        if epoch > table[index].view.name.epoch {
            finish(index, .replaced, .told, at: now, into: &outputs)
        } else if object.text(of: .state) == "ended", table[index].view.name.epoch == epoch {
            let reason = object.text(of: .reason).flatMap { EndReason(rawValue: $0) }
            finish(index, reason, .told, at: now, into: &outputs)
        }
    }
}
