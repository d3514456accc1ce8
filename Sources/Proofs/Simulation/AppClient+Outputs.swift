import CallClient
import CallCore
import CallWire
import JSON

/// Converts the outputs of the real client core into those that the world handles, and finds for each output the signal
/// that caused it.
extension AppClient {
    func perform(_ output: CallClient.Output, at now: Moment, into outputs: inout [CoreOutput]) {
        switch output {
        case .reportIncoming(let uuid, _):
            if !reported.insert(uuid).inserted {
                outputs.append(.report(.broken("I2", "\(device.text) reported \(uuid.text) to the system twice")))
            }
            guard systemShows(uuid, at: now) else { return }
            // For a push that names no call, the core also reports a call, and then its end. Such a call has no name.
            if let name = name(of: uuid) { outputs.append(.report(.rang(name))) }
        case .reportConnecting(let uuid):
            if let name = name(of: uuid) { outputs.append(.report(.answered(name))) }
        case .reportEnded(let uuid, _):
            guard let call = client.calls.last(where: { $0.uuid == uuid }) else { return }
            outputs.append(.report(.ended(name(of: call), call.reason, .told, replacedBy: nil)))
        case .makeOffer(let uuid, let round, _, _): make(.offer, uuid, round: round, at: now)
        case .makeAnswer(let uuid, let round): make(.answer, uuid, round: round, at: now)
        case .setRemoteDescription(let uuid, _, let sdp): descriptionSet(sdp, uuid, into: &outputs)
        case .addRemoteCandidate(let uuid, let text): candidateAdded(text, uuid, into: &outputs)
        case .receivedInfo(let uuid, let text):
            if let one = arrival(of: text, in: uuid) { reportDelivery(one, uuid, into: &outputs) }
        case .send(let signal):
            signalSent(signal)
            outputs.append(.send(signal.frame))
        case .post(let signal, let authorization):
            signalSent(signal)
            outputs.append(
                .post(id: signal.id.text, signal.callID, signal.body, capability: authorization.capability)
            )
        case .fetch(let number, let id, let peer, let since, let authorization):
            outputs.append(
                .fetch(
                    id,
                    peer: peer,
                    since: since?.seq ?? 0,
                    epoch: since?.epoch ?? 0,
                    number: number.rawValue,
                    capability: authorization.capability
                )
            )
        case .connect: connectionIsWanted(at: now, into: &outputs)
        case .renewToken: outputs.append(.renewToken)
        case .closeMedia(let uuid): remoteDescriptions[uuid] = nil
        case .reportRepeated(let uuid, _):
            if !reported.contains(uuid) {
                outputs.append(
                    .report(.broken("I2", "\(device.text) repeated a report of \(uuid.text) that it never made"))
                )
            }
        case .startAudio(let uuid):
            if client.calls.last(where: { $0.uuid == uuid })?.isAnswered != true {
                outputs.append(
                    .report(.broken("I2", "\(device.text) started the audio of a call that is not answered"))
                )
            }
        case .reportConnected, .update, .refused, .peerRinging, .delayed, .peerMedia, .receivedDTMF, .rollback,
            .stopAudio, .holdMedia, .muteMedia, .tokenOfAnotherUser:
            break
        }
    }

    func name(of uuid: CallUUID) -> CallName? {
        client.calls.last { $0.uuid == uuid }.map { name(of: $0) }
    }

    // MARK: Out

    private func signalSent(_ signal: OutgoingSignal) {
        let name = CallName(id: signal.callID, pair: Pair(user, signal.peer), epoch: signal.epoch ?? 0)
        underWay[signal.id.text] = (signal.kind, name)
    }

    func acknowledged(_ id: String, _ ack: Ack, into outputs: inout [CoreOutput]) {
        guard let sent = underWay.removeValue(forKey: id) else { return }
        var name = sent.name
        if let epoch = ack.epoch { name.epoch = epoch }
        outputs.append(.report(.acknowledged(name, seq: ack.seq, id: id, kind: sent.kind)))
    }

    // MARK: In

    /// Records that a signal of a call's log has reached the simulated device, by socket or fetch.
    func signalArrived(_ object: JSONObject, into outputs: inout [CoreOutput]) {
        guard let type = object.text(of: .type), let kind = SignalKind(rawValue: type),
            let id = object.text(of: .callId).flatMap({ CallID($0) }),
            let from = object.text(of: .from).flatMap({ UserID($0) }), from != user,
            let seq = object.number(of: .seq), let epoch = object.number(of: .epoch)
        else { return }
        let name = CallName(id: id, pair: Pair(user, from), epoch: UInt32(truncatingIfNeeded: epoch))
        let one = Delivery(
            seq: UInt64(seq),
            kind: kind,
            device: object.text(of: .fromDevice) ?? "",
            id: object.text(of: .id)
        )
        outputs.append(.report(.arrived(name, one)))
        guard let content = Self.content(of: kind, object) else { return }
        arrivals[content, default: []].removeAll { $0.call == name }
        arrivals[content, default: []].append((name, one))
        if descriptionsFromPushes.remove(content) != nil { outputs.append(.report(.delivered(name, one))) }
        let round = object.number(of: .round)
        if kind == .offer || kind == .answer { descriptionRounds[content] = round }
        // The core ignores an entry behind its cursor. Only a deposed owner sends one that did not arrive before: it is not
        // durable, so its sender sends it again.
        let isBehind = client.calls.contains { self.name(of: $0) == name && one.seq <= $0.seq }
        if kind == .ice, let round, !isBehind, !candidates[name, default: []].contains(where: { $0.text == content }) {
            candidates[name, default: []].append(
                Candidate(text: content, device: one.device, round: round, seq: one.seq)
            )
            hasUncheckedArrivals = true
        }
    }

    /// Returns the content that distinguishes a description, candidate or message from all others in the world.
    private static func content(of kind: SignalKind, _ object: JSONObject) -> String? {
        switch kind {
        case .offer, .answer: object.text(of: .sdp)
        case .ice: object.raw(of: .candidate)
        case .info: object.raw(of: .data).flatMap { $0.hasPrefix("{\"n\":") ? $0 : nil }
        case .ringing, .connected, .update, .dtmf, .end: nil
        }
    }

    /// Returns the signal with which a content arrived: in the call with this UUID if possible, and otherwise in any
    /// call.
    private func arrival(of content: String, in uuid: CallUUID) -> Delivery? {
        let arrived = arrivals[content] ?? []
        let call = name(of: uuid)
        return (arrived.last { $0.call == call } ?? arrived.last)?.signal
    }

    private func reportDelivery(_ one: Delivery, _ uuid: CallUUID, into outputs: inout [CoreOutput]) {
        guard let name = name(of: uuid) else { return }
        outputs.append(.report(.delivered(name, one)))
    }

    private func descriptionSet(_ sdp: String, _ uuid: CallUUID, into outputs: inout [CoreOutput]) {
        hasUncheckedArrivals = true
        guard let one = arrival(of: sdp, in: uuid) else {
            // The description came with the push, and the log has not arrived yet.
            descriptionsFromPushes.insert(sdp)
            remoteDescriptions[uuid] = nil
            return
        }
        remoteDescriptions[uuid] = Remote(device: one.device, round: descriptionRounds[sdp] ?? nil, seq: one.seq)
        if one.kind == .answer { answeredBy[uuid] = one.device }
        reportDelivery(one, uuid, into: &outputs)
    }

    private func candidateAdded(_ text: String?, _ uuid: CallUUID, into outputs: inout [CoreOutput]) {
        guard let text, let one = arrival(of: text, in: uuid), let name = name(of: uuid) else { return }
        if let place = candidates[name]?.firstIndex(where: { $0.text == text }) {
            candidates[name]?[place].isAdded = true
        }
        reportDelivery(one, uuid, into: &outputs)
    }

    /// Checks that the engine has every candidate that arrived for its current description (I4, I5).
    func checkCandidates(into outputs: inout [CoreOutput]) {
        guard hasUncheckedArrivals else { return }
        hasUncheckedArrivals = false
        for call in client.calls where call.isLive {
            guard let remote = remoteDescriptions[call.uuid], let round = remote.round else { continue }
            let name = name(of: call)
            // A restarted app numbers its rounds from the beginning again. So a candidate whose `seq` is lower than the
            // description's belongs to an earlier description.
            for one in candidates[name] ?? []
            where one.round == round && one.device == remote.device && one.seq > remote.seq && !one.isAdded
                // The core ignores a response that it no longer awaits, and keeps its cursor: the candidates in that
                // response arrive again.
                && one.seq <= call.seq
            {
                outputs.append(.report(.broken("I4", "\(device.text) did not set a candidate of \(name): \(one.text)")))
            }
        }
    }
}

extension CallClient.Authorization {
    fileprivate var capability: String? {
        if case .capability(let capability) = self { capability } else { nil }
    }
}
