import CallCore
import CallWire
import JSON

/// Handles what a model client sends: its signals, their resends, and the results.
extension ModelClient {
    func carryOut(_ intent: Intent, at now: Moment, into outputs: inout [CoreOutput]) {
        switch intent {
        case .call(let id, let peer, let ringSeconds, let sdp):
            let name = CallName(id: id, pair: Pair(user, peer), epoch: 0)
            // While the end of an earlier call has not arrived, its callId is in use: the new offer would count as a
            // renegotiation.
            if table.contains(where: { $0.view.name.key == name.key && !$0.outbox.isEmpty }) { return }
            var call = Call(view: CoreCall(name: name, isCaller: true, phase: .calling), peer: peer)
            call.until = now + .seconds((ringSeconds ?? 45) + 5)
            // An earlier call under the callId is over for this device.
            forgetUses(of: name.key)
            table.append(call)
            let ring = ringSeconds.map { ",\"ringTimeout\":\($0)" } ?? ""
            send(.offer, "\(sdpField(sdp))\(ring),\"begin\":true", in: table.count - 1, at: now, into: &outputs)
        case .answer(let name, let sdp):
            guard let index = find(name), table[index].view.phase == .ringing else { return }
            table[index].view.phase = .answering
            table[index].until = now + .seconds(30)
            send(.answer, sdpField(sdp), in: index, at: now, into: &outputs)
        case .end(let name, let reason):
            guard let index = find(name), table[index].view.phase != .ended else { return }
            let field = reason.map { "\"reason\":\"\($0.rawValue)\"" } ?? ""
            finish(index, reason, .user, at: now, into: &outputs)
            send(.end, field, in: index, at: now, into: &outputs)
        case .send(let name, let kind, let fields):
            guard let index = find(name), table[index].view.phase != .ended else { return }
            // Until the epoch is known, a new description could begin another call.
            if kind == .offer, !table[index].offerIsKnown { return }
            send(kind, fields, in: index, at: now, into: &outputs)
        }
    }

    /// Forgets the earlier calls under a callId, and remembers only their newest epoch.
    func forgetUses(of key: CallKey) {
        for call in table where call.view.name.key == key { past[key] = max(past[key] ?? 0, call.view.name.epoch) }
        table.removeAll { $0.view.name.key == key }
    }

    func sdpField(_ number: Int) -> String { "\"sdp\":\"v=0\\r\\no=- \(number) 1 IN IP4 0.0.0.0\\r\\n\"" }

    func send(
        _ kind: SignalKind,
        _ fields: String,
        in index: Int,
        at now: Moment,
        into outputs: inout [CoreOutput]
    ) {
        count += 1
        let call = table[index]
        var one = Outgoing(
            kind: kind,
            id: prefix + String(count),
            callID: call.view.name.id,
            peer: call.peer,
            epoch: call.view.name.epoch,
            fields: fields
        )
        one.sentAt = now
        one.tries = 1
        // Until the offer has arrived, the server has no call to which a later signal could belong.
        let waits = call.view.isCaller && !call.offerIsKnown && kind != .offer && kind != .end && kind != .ice
        if !waits, one.epoch == 0 { one.unqualifiedTries = 1 }
        table[index].outbox.append(one)
        if !waits { outputs.append(.transmit(one)) }
    }

    func resend(_ index: Int, at now: Moment, evenRecent: Bool, into outputs: inout [CoreOutput]) {
        for place in table[index].outbox.indices {
            let one = table[index].outbox[place]
            guard evenRecent || isSentAgainByTimer(one) && one.sentAt.map({ now >= $0 + Self.resendAfter }) ?? true
            else { continue }
            table[index].outbox[place].sentAt = now
            table[index].outbox[place].isPutOff = false
            table[index].outbox[place].tries += 1
            if one.kind != .offer, table[index].view.name.epoch > 0 {
                table[index].outbox[place].epoch = table[index].view.name.epoch
            }
            if table[index].outbox[place].epoch == 0 { table[index].outbox[place].unqualifiedTries += 1 }
            outputs.append(.transmit(table[index].outbox[place]))
        }
    }

    func acknowledged(_ id: String, _ object: JSONObject, at now: Moment, into outputs: inout [CoreOutput]) {
        guard let (index, place) = outgoing(id) else {
            // The offer of a call that this device gave up has arrived after all.
            sendEndAgain(object, at: now, into: &outputs)
            return
        }
        let one = table[index].outbox.remove(at: place)
        let epoch = UInt32(truncatingIfNeeded: object.number(of: .epoch) ?? 0)
        let seq = UInt64(object.number(of: .seq) ?? 0)
        // Only the offer's ack has this call's epoch: any other signal may have gone into a call of the peer under the
        // same callId.
        if one.kind == .offer, table[index].view.name.epoch == 0, epoch > 0 { adopt(epoch, in: index) }
        // A signal without an epoch may have gone into another epoch than this device assumed.
        var name = table[index].view.name
        if epoch > 0 { name.epoch = epoch }
        outputs.append(.report(.acknowledged(name, seq: seq, id: id, kind: one.kind)))
        if one.kind == .offer, !table[index].offerIsKnown {
            table[index].offerIsKnown = true
            resend(index, at: now, evenRecent: true, into: &outputs)
        }
        if object.text(of: .state) == "ended", one.kind == .offer || one.kind == .answer {
            let reason = object.text(of: .reason).flatMap { EndReason(rawValue: $0) }
            finish(
                index,
                reason,
                .told,
                replacedBy: object.text(of: .replacedBy).flatMap { CallID($0) },
                at: now,
                into: &outputs
            )
        } else if one.kind == .answer, table[index].view.phase == .answering {
            startTalking(index, with: device.text, at: now, into: &outputs)
        }
        takeHeld(index, at: now, into: &outputs)
    }

    /// Handles the frames that were kept back until it was known whether they belong to the call.
    private func takeHeld(_ index: Int, at now: Moment, into outputs: inout [CoreOutput]) {
        let held = table[index].held
        table[index].held = []
        for frame in held {
            if let object = MessageReader.object(inFrame: frame) {
                take(object, frame, at: now, into: &outputs)
            }
        }
    }

    func adopt(_ epoch: UInt32, in index: Int) {
        table[index].view.name.epoch = epoch
        // Signals that were queued before the epoch was known name it from now on.
        for place in table[index].outbox.indices where table[index].outbox[place].kind != .offer {
            table[index].outbox[place].epoch = epoch
        }
    }

    func refused(_ id: String, _ code: String, at now: Moment, into outputs: inout [CoreOutput]) {
        guard let (index, place) = outgoing(id) else { return }
        let one = table[index].outbox[place]
        table[index].outbox[place].isPutOff = true
        let mayBeEarlier = one.unqualifiedTries > 0
        if mayBeEarlier { table[index].outbox[place].unqualifiedTries -= 1 }
        switch code {
        case "rate_limited", "store_unavailable", "draining", "internal_error": return
        case "forbidden" where one.tries <= 1 && one.kind != .offer && one.kind != .end:
            // The first try may have named no peer, and reached another call of this user under the callId. The next
            // try names the peer.
            return
        case "call_ended" where one.tries <= 1 && one.kind == .ringing:
            // The other call may have ended a moment ago.
            return
        case _ where table[index].view.isCaller && !table[index].offerIsKnown && one.kind != .end && one.kind != .offer:
            // The signal overtook the offer, and reached no call or an earlier one under the callId.
            return
        case _ where mayBeEarlier && table[index].view.isCaller && one.kind == .ice:
            // The refusal may be of a try that overtook the offer.
            return
        default: break
        }
        table[index].outbox.remove(at: place)
        outputs.append(.report(.refused(table[index].view.name, kind: one.kind, code: code)))
        switch one.kind {
        case .offer where !table[index].offerIsKnown:
            finish(index, .failed, .refused, at: now, into: &outputs)
            if table[index].outbox.isEmpty { takeHeld(index, at: now, into: &outputs) }
        case .answer where table[index].view.phase == .answering:
            finish(
                index,
                code == "already_answered" ? .answeredElsewhere : nil,
                .refused,
                at: now,
                into: &outputs
            )
        case .offer, .answer, .ringing, .ice, .connected, .update, .dtmf, .info, .end:
            if code == "already_answered", table[index].view.phase == .ringing {
                finish(index, .answeredElsewhere, .refused, at: now, into: &outputs)
            }
            if code == "call_ended" || code == "not_found" { finish(index, nil, .refused, at: now, into: &outputs) }
        }
    }

    func sendEndAgain(_ object: JSONObject, at now: Moment, into outputs: inout [CoreOutput]) {
        guard let text = object.text(of: .callId), let id = CallID(text), object.text(of: .state) != "ended",
            let index = table.lastIndex(where: { $0.view.name.id == id && $0.view.phase == .ended && $0.view.isCaller }
            ),
            table[index].outbox.isEmpty, let epoch = object.number(of: .epoch)
        else { return }
        if table[index].view.name.epoch == 0 {
            // A candidate without an epoch may have gone into the earlier call under the callId.
            guard epoch > past[table[index].view.name.key] ?? 0 else { return }
            adopt(UInt32(truncatingIfNeeded: epoch), in: index)
        }
        guard table[index].view.name.epoch == UInt32(truncatingIfNeeded: epoch) else { return }
        send(.end, "", in: index, at: now, into: &outputs)
    }
}
