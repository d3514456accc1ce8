import CallCore
import CallPorts
import CallWire
import Switchboard

/// Checks what is sent between the server and the simulated devices.
extension InvariantChecker {
    /// Checks a frame that the server writes to a device's socket.
    mutating func sent(_ frame: ParsedFrame, to device: SimulatedDevice, on link: Int, at now: Int64) {
        checkAck(frame, to: device)
        checkDecided(frame, to: device.user)
        checkSilenced(frame, to: device)
        // A frame with a callId, an epoch and a room belongs to a call.
        guard let name = name(frame.place(for: device.user), for: device) else { return }
        // A device that has answered a call shows it, whatever its system did before.
        if frame.answeringDevice == device.id.text { silenced.remove(target(name, device.id)) }
        if let from = frame.from, from != device.user.text, let number = newest[name.key],
            let call = calls[number], call.name == name, call.isLive, call.wasAnswered,
            part(of: device, in: call) == .calleesOther
        {
            fail("I10", "\(device.id.text) was sent an entry of the leg that answered \(name)")
        }
        if frame.isOffer { offers[link, default: []].append(name) }
    }

    /// Records that the server received something on a socket of a device.
    ///
    /// This counts as the device's confirmation of every offer that the server wrote to that socket before.
    mutating func confirm(_ link: Int, by device: SimulatedDevice) {
        guard let names = offers.removeValue(forKey: link) else { return }
        for name in names { confirmed.insert(target(name, device.id)) }
    }

    func target(_ name: CallName, _ device: DeviceID) -> PushTarget { PushTarget(name: name, device: device) }

    /// Returns the name of the call that an object belongs to.
    ///
    /// Returns `nil` when the object belongs to no call, or when the device's user is not in the object's room, which
    /// breaks I10.
    private mutating func name(_ place: ParsedFrame.Place, for device: SimulatedDevice) -> CallName? {
        switch place {
        case .nowhere: return nil
        case .call(let name): return name
        case .foreign(let id, let room):
            fail("I10", "\(device.id.text) of \(device.user.text) was shown \(id.text) in \(room)")
            return nil
        }
    }

    /// Checks a frame that a device received.
    mutating func shown(_ frame: ParsedFrame, to device: SimulatedDevice) {
        guard let name = name(frame.place(for: device.user), for: device), let seq = frame.seq, frame.type != "ack"
        else { return }
        checkShown(name, seq, frame.fingerprint, device)
    }

    private mutating func checkShown(_ name: CallName, _ seq: UInt64, _ fingerprint: UInt64, _ device: SimulatedDevice)
    {
        if let number = newest[name.key], let call = calls[number], call.name == name, call.record.hidden != nil,
            device.user == call.record.callee
        {
            fail("I10", "\(device.id.text) was shown \(name), which is hidden from it")
        }
        if let before = shownFingerprints[name, default: [:]].updateValue(fingerprint, forKey: seq),
            before != fingerprint
        {
            fail("I4", "two entries of \(name) have seq \(seq)")
        }
    }

    /// Checks the response to a device's fetch.
    mutating func fetched(_ reply: Reply, _ id: CallID, by device: SimulatedDevice) {
        guard reply.status == 200, let object = MessageReader.object(reply.body), let room = object.text(of: .room),
            let id = object.text(of: .callId).flatMap({ CallID($0) }), let epoch = object.number(of: .epoch),
            let name = name(
                ParsedFrame.place(of: id, UInt32(truncatingIfNeeded: epoch), in: room, for: device.user),
                for: device
            )
        else { return }
        confirmed.insert(target(name, device.id))
        for element in object.elements(of: .signals) {
            guard let inner = MessageReader.object(element), let seq = inner.number(of: .seq) else { continue }
            checkShown(name, UInt64(seq), ParsedFrame.fingerprint(of: inner), device)
        }
    }

    /// Checks the response to an outsider: it must equal the response about a call that does not exist.
    mutating func checkProbe(_ reply: Reply, _ id: CallID) {
        let isUnknown = id.text.hasPrefix("nobody")
        guard reply.status == 404 else {
            if !isUnknown, reply.status != 429, reply.status != 503 {
                fail("I10", "an outsider got status \(reply.status) for \(id.text)")
            }
            return
        }
        if let body = unknownBody["404"], body != reply.body {
            fail("I10", "an outsider can tell that \(id.text) exists")
        }
        unknownBody["404"] = reply.body
    }

    // MARK: Actions of devices

    /// Returns the call that a user means by a callId.
    ///
    /// With a peer, it is the newest call with that peer. Without one, it is the user's newest live call under the
    /// callId.
    func find(_ id: CallID, _ user: UserID, _ peer: UserID?) -> CommittedCall? {
        if let peer { return newest[CallKey(id: id, pair: Pair(user, peer))].flatMap { calls[$0] } }
        for number in live.reversed() {
            if let call = calls[number], call.record.id == id, call.record.caller == user || call.record.callee == user
            {
                return call
            }
        }
        // If no such call is live, it is the last ended one.
        return recent.reversed().lazy.compactMap { calls[$0] }.first {
            $0.record.id == id && ($0.record.caller == user || $0.record.callee == user)
        }
    }

    func part(of device: SimulatedDevice, in call: CommittedCall) -> Coverage.Part {
        if device.user == call.record.caller {
            return call.record.legs.first?.device.id == device.id ? .caller : .callersOther
        }
        guard device.user == call.record.callee, call.record.hidden == nil else { return .anybody }
        if call.record.answeredAt == nil { return .callee }
        return answeringDevices[call.record.number] == device.id ? .answeringDevice : .calleesOther
    }

    /// Records a frame that reaches the server, if it is a signal of a call.
    ///
    /// Returns whether the frame may arrive twice: whether it is such a signal and has an `id`. The second arrival must
    /// change nothing.
    mutating func noteSignal(_ frame: [UInt8], from device: SimulatedDevice) -> Bool {
        guard let object = MessageReader.object(frame),
            let kind = object.text(of: .type).flatMap({ SignalKind(rawValue: $0) }),
            let id = object.text(of: .callId).flatMap({ CallID($0) })
        else { return false }
        let peer = object.text(of: Key.to).flatMap { UserID($0) }
        if let peer, let name = object.text(of: .id) { intendedPeer["\(device.id.text) \(name)"] = peer }
        visit(kind.rawValue, id, peer, by: device)
        return object.text(of: .id) != nil
    }

    mutating func attempt(_ message: SignalMessage, from device: SimulatedDevice, at now: Int64, event: String? = nil) {
        if let peer = message.to, let name = message.id { intendedPeer["\(device.id.text) \(name.text)"] = peer }
        guard let id = message.callID else { return }
        visit(event ?? message.signal.kind.rawValue, id, message.to, by: device)
        if let call = find(id, device.user, message.to) { confirmed.insert(target(call.name, device.id)) }
    }

    private mutating func visit(_ event: String, _ id: CallID, _ peer: UserID?, by device: SimulatedDevice) {
        guard let call = find(id, device.user, peer) else {
            coverage.visit(.none, event, .anybody)
            return
        }
        coverage.visit(call.state, event, part(of: device, in: call))
    }

    mutating func visit(_ event: String, _ id: CallID, by device: SimulatedDevice) { visit(event, id, nil, by: device) }

    /// Counts an event on a device that concerns all live calls of its user.
    mutating func visit(_ event: String, by device: SimulatedDevice, at now: Int64) {
        for number in live {
            guard let call = calls[number] else { continue }
            let part = part(of: device, in: call)
            if part != .anybody { coverage.visit(call.state, event, part) }
        }
    }

    mutating func acknowledged(
        _ name: CallName,
        seq: UInt64,
        id: String,
        kind: SignalKind,
        by device: SimulatedDevice,
        at now: Int64
    ) {
        guard seq > 0, name.epoch > 0 else { return }
        let name = callWithoutPeer(DeviceSignal(kind: kind, device: device.id, id: id), as: seq, in: name)
        acknowledgements[name, default: []].append(
            Acknowledged(seq: seq, id: id, kind: kind, device: device.id, user: device.user, at: now)
        )
    }

    /// Returns the call whose log holds an acknowledged signal that named no peer.
    ///
    /// It may be another call than the device meant, if the device has offered a call to another user under that callId
    /// while the signal was on its way, or if the device rings for two calls under that callId. The server acknowledges
    /// a `ringing` with the `seq` of the device's first one in the call, and the log holds that one's id.
    private func callWithoutPeer(_ signal: DeviceSignal, as seq: UInt64, in name: CallName) -> CallName {
        guard intendedCall[signal.key] != nil else { return name }
        let holders = calls.values.filter { call in
            guard call.record.id == name.id, call.record.epoch == name.epoch, let held = call.held[seq] else {
                return false
            }
            return held.device == signal.device && held.kind == signal.kind
        }
        if let holder = holders.first(where: { $0.held[seq]?.id == signal.id }) { return holder.name }
        if holders.contains(where: { $0.name == name }) { return name }
        return holders.map(\.name).min() ?? name
    }

    mutating func rang(_ name: CallName, on device: SimulatedDevice, at now: Int64) {
        guard let number = newest[name.key], let call = calls[number], call.name == name else { return }
        if call.record.hidden != nil, device.user != lostCallees[name] {
            fail("I10", "\(device.id.text) rings for \(name), which is hidden from it")
        }
        if device.user != call.record.callee, device.user != lostCallees[name] {
            fail("I10", "\(device.id.text) rings for \(name), a call of other users")
        }
    }

    /// Checks a signal that an app received: each must come once and in order, and a candidate must come after a
    /// description of its device.
    mutating func delivered(_ one: Delivery, of name: CallName, to device: SimulatedDevice) {
        // The log is taken out of the dictionary while it changes, so that its sets are not copied.
        var log = device.delivered.removeValue(forKey: name) ?? Deliveries()
        if let call = newest[name.key].flatMap({ calls[$0] }), call.name == name { log.begin(for: call.record.callee) }
        if let id = one.id, !log.signalKeys.insert("\(one.device) \(id)").inserted {
            fail("I4", "\(device.id.text) got \(one.kind.rawValue) \(id) of \(name) twice")
        }
        if !log.seqs.insert(one.seq).inserted {
            fail("I4", "\(device.id.text) got seq \(one.seq) of \(name) twice")
        }
        if one.kind == .ice {
            if !log.describedDevices.contains(one.device) {
                fail("I5", "\(device.id.text) got a candidate of \(name) before its description")
            }
        } else {
            // In the real app an offer may come later, because it waits for the user, or earlier, with the push. The
            // peer's other signals keep their order.
            let keepsOrder = !(one.kind == .offer && device.isRealApp)
            if keepsOrder, one.seq <= log.lastSeq {
                fail("I4", "\(device.id.text) got seq \(one.seq) of \(name) after \(log.lastSeq)")
            }
            if keepsOrder { log.lastSeq = max(log.lastSeq, one.seq) }
        }
        if one.kind == .offer || one.kind == .answer { log.describedDevices.insert(one.device) }
        device.delivered[name] = log
    }

    // MARK: Pushes

    /// Returns the call and the device that a push rings; `nil` for a notice.
    func ring(_ push: OutgoingPush) -> (name: CallName, device: DeviceRecord)? {
        guard let object = MessageReader.object(push.payload), object.text(of: .type) == "call.incoming",
            let id = object.text(of: .callId).flatMap({ CallID($0) }),
            let epoch = MessageReader.number(.epoch, in: object),
            let caller = object.text(of: .fromUserId).flatMap({ UserID($0) }),
            let device = device(withToken: push.route.token)
        else { return nil }
        return (CallName(id: id, pair: Pair(caller, device.user), epoch: UInt32(truncatingIfNeeded: epoch)), device)
    }

    /// Checks that all pushes that ring a device for a call bear one `apns-id`.
    mutating func checkAPNsID(_ push: OutgoingPush, of target: PushTarget) {
        if apnsIDs.updateValue(push.uuid, forKey: target).map({ $0 != push.uuid }) ?? false {
            fail("I14", "a push to \(target.device.text) for \(target.name) has another apns-id than the one before")
        }
    }

    mutating func pushRequested(_ push: OutgoingPush, at now: Int64) {
        guard let (name, device) = ring(push) else { return }
        let target = target(name, device.id)
        pushes[push.id] = (name, target)
        checkAPNsID(push, of: target)
        checkSilenced(name, pushedTo: device.id)
        checkDecided(push)
        if (accepted[target] ?? 0) > 0 { fail("I6", "a push to \(device.id.text) for \(name) after one was accepted") }
        if let number = newest[name.key], let call = calls[number], call.name == name, !call.isRinging {
            fail("I6", "a push to \(device.id.text) for \(name), which is \(call.state.rawValue)")
        }
        let limits: [PushKind: Int] = [.voip: 5_120, .web: 3_993]
        let limit = limits[push.route.kind] ?? 4_096
        // Firebase counts names and values without quotes and escapes.
        let count = push.route.kind == .firebase ? MessageReader.dataBytes(of: push.payload) : push.payload.count
        if count > limit { fail("I11", "a push has \(count) bytes; the push service takes \(limit)") }
    }

    private func device(withToken token: String) -> DeviceRecord? {
        for user in devices.keys.sorted() {
            if let device = devices[user]?.first(where: { $0.has(token) }) {
                return device
            }
        }
        return nil
    }

    mutating func cancelled(_ id: PushID) { cancelledPushes.insert(id) }

    func isCancelled(_ id: PushID) -> Bool { cancelledPushes.contains(id) }

    /// Returns whether a push to a device was requested and not cancelled.
    func isOrdered(_ target: PushTarget) -> Bool {
        pushes.contains { $0.value.device == target && !cancelledPushes.contains($0.key) }
    }

    mutating func attempted(_ id: PushID) {
        guard let push = pushes[id] else { return }
        attempted.insert(push.device)
        if let call = newest[push.name.key].flatMap({ calls[$0] }), call.name == push.name, call.wasEnded {
            fail("I6", "a push for \(push.name) was sent after the call's end")
        }
    }

    mutating func pushResulted(_ id: PushID, _ result: PushResult) {
        guard result.isAccepted, let push = pushes[id] else { return }
        accepted[push.device, default: 0] += 1
        if accepted[push.device] ?? 0 > 1 { fail("I6", "two pushes for \(push.name) were accepted") }
    }
}

extension InvariantChecker {
    /// Returns whether the row of a device was removed since a call began.
    ///
    /// A device that registers again while the call rings is not pushed: it is awake.
    func wasRemoved(_ device: DeviceID, since call: CommittedCall) -> Bool {
        removedAt[device].map { $0 >= call.changedAt - 130_000 } ?? false
    }
}
