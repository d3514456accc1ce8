import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// Simulates devices: their power, the start and kill of their apps, and the outputs of their apps' call logic.
extension World {
    /// Passes one input to the call logic of a device's app and performs its outputs.
    func tell(_ handset: Handset, _ input: CoreInput) {
        guard let core = handset.core else { return }
        // The buffer is kept for the next input. An input that is passed meanwhile gets a buffer of its own.
        var batch: [CoreOutput] = []
        swap(&batch, &coreOutputs)
        core.handle(input, at: Moment(milliseconds: now + handset.skew), into: &batch)
        defer {
            batch.removeAll(keepingCapacity: true)
            swap(&batch, &coreOutputs)
        }
        for output in batch {
            switch output {
            case .transmit(let signal): transmit(signal, from: handset)
            case .send(let frame): if let link = handset.link, !handset.isConnecting { writes(frame, on: link) }
            case .post(let id, let callID, let body, let capability):
                requests(.signal(id: id, body, callID), from: handset, capability: capability)
            case .fetch(let id, let peer, let since, let epoch, let number, let capability):
                let cursor = epoch == 0 ? nil : ClientMessage.Cursor(epoch: epoch, seq: since)
                requests(
                    .fetch(id, .init(peer: peer, since: cursor, device: handset.device), number: number),
                    from: handset,
                    capability: capability
                )
            case .connect: after(network.within(0...50), .connect(handset: handset.index))
            case .renewToken:
                after(network.within(100...3_000), .tokenRenewed(handset: handset.index, instance: handset.instance))
            case .report(let report): take(report, from: handset)
            }
        }
        planWake(handset)
    }

    private func planWake(_ handset: Handset) {
        guard let deadline = handset.core?.deadline else { return }
        let at = max(now + 1, deadline.milliseconds - handset.skew)
        if let planned = handset.wakesAt, planned <= at, planned > now { return }
        handset.wakesAt = at
        agenda.plan(.core(handset: handset.index), at: at)
    }

    func wake(_ handset: Handset) {
        guard let at = handset.wakesAt, at <= now else { return }
        handset.wakesAt = nil
        guard handset.power == .foreground, let core = handset.core else { return }
        if let deadline = core.deadline, deadline.milliseconds - handset.skew <= now {
            tell(handset, .deadlineReached)
        } else {
            planWake(handset)
        }
    }

    private func transmit(_ signal: Outgoing, from handset: Handset) {
        let isOnSocket = handset.link != nil && !handset.isConnecting
        // The first try goes over the socket in most cases, if there is one; a resend is a request more often. Signals
        // on the socket and signals in requests may overtake each other.
        let bySocket = isOnSocket && (signal.tries <= 1 ? network.percent(92) : network.percent(70))
        let isTerse = leavesOutPeer(signal, of: handset)
        if isTerse {
            watch.meantTersely["\(handset.device.text) \(signal.id)"] =
                CallKey(id: signal.callID, pair: Pair(handset.user, signal.peer))
        }
        let epoch = signal.epoch > 0 && !isTerse ? ",\"epoch\":\(signal.epoch)" : ""
        let to = isTerse ? "" : ",\"to\":\"\(signal.peer.text)\""
        let fields = signal.fields.isEmpty ? "" : "," + signal.fields
        if bySocket, let link = handset.link {
            let text =
                "{\"type\":\"\(signal.kind.rawValue)\",\"id\":\"\(signal.id)\",\"callId\":\"\(signal.callID.text)\"\(epoch)\(fields)"
                + "\(to)}"
            writes([UInt8](repeating: 0, count: 0) + Array(text.utf8), on: link)
            return
        }
        let inner = signal.fields.isEmpty ? "{}" : "{\(signal.fields)}"
        let body =
            "{\"action\":\"\(signal.kind.rawValue)\",\"id\":\"\(signal.id)\",\"deviceId\":\"\(handset.device.text)\"\(epoch)\(to)"
            + ",\"data\":\(inner)}"
        requests(.signal(id: signal.id, Array(body.utf8), signal.callID), from: handset)
    }

    private func core(of handset: Handset) -> any PhoneCore {
        guard handset.isRealApp else {
            return ModelClient(user: handset.user, device: handset.device, instance: handset.instance)
        }
        let stream = 1_000 + UInt64(handset.index) * 1_000 + UInt64(handset.instance)
        return AppClient(
            user: handset.user,
            device: handset.device,
            instance: handset.instance,
            chance: SeededGenerator(seed: seed, stream: stream),
            nextNumber: { [unowned self] in
                sdpCount += 1
                return sdpCount
            }
        )
    }

    func renewed(_ handset: Handset) {
        handset.hasExpiredToken = false
        tell(handset, .tokenRenewed)
    }

    // MARK: Power

    func launch(_ handset: Handset) {
        if handset.power == .killed || handset.core == nil {
            handset.instance += 1
            handset.core = core(of: handset)
            handset.delivered = [:]
            handset.link = nil
            handset.isConnecting = false
            log("\(handset.device.text) starts its app")
        } else {
            log("\(handset.device.text) wakes its app")
        }
        handset.power = .foreground
        handset.backoff = 200
        planWake(handset)
        if handset.link == nil { after(network.within(20...400), .connect(handset: handset.index)) }
    }

    /// Returns whether a device rings or is in a call, in which case it is not suspended.
    func isBusy(_ handset: Handset) -> Bool { handset.core?.calls.contains { $0.phase != .ended } ?? false }

    func suspend(_ handset: Handset) {
        guard handset.power == .foreground, !isBusy(handset) else { return }
        log("\(handset.device.text) is suspended")
        handset.power = .suspended
        guard let link = handset.link else { return }
        handset.link = nil
        handset.isConnecting = false
        if chaos.percent(60) {
            // The system keeps the connection, but the app does not answer on it.
            links[link].isHalfOpen = true
            links[link].isOpenAtPhone = false
        } else {
            breaks(link)
            links[link].isOpenAtPhone = false
        }
        tell(handset, .disconnected)
    }

    func kill(_ handset: Handset) {
        guard handset.power != .killed else { return }
        log("\(handset.device.text) is killed")
        handset.power = .killed
        handset.core = nil
        handset.wakesAt = nil
        handset.instance += 1
        guard let link = handset.link else { return }
        handset.link = nil
        handset.isConnecting = false
        if chaos.percent(50) { links[link].isHalfOpen = true } else { breaks(link) }
        links[link].isOpenAtPhone = false
    }

    func goOffline(_ handset: Handset, for milliseconds: Int64) {
        log("\(handset.device.text) has no network for \(milliseconds) ms")
        handset.offlineUntil = now + milliseconds
        guard let link = handset.link else { return }
        goesHalfOpen(link, phoneNoticesAfter: 0...2_000)
    }

    func register(_ handset: Handset, replacing: Bool = false) {
        if replacing {
            handset.oldTokens.append((handset.token, now))
            handset.tokenCount += 1
            handset.token = "\(handset.device.text)\(handset.tokenCount)"
        }
        let registration = Switchboard.Registration(
            voipToken: handset.token,
            alertToken: handset.index % 2 == 0 ? "a" + handset.token : nil,
            bundleID: "com.example.app",
            platform: "ios",
            device: handset.device,
            environment: handset.index % 3 == 0 ? .sandbox : nil
        )
        requests(.other(.register(registration)), from: handset)
    }

    /// Sends the next poll for a live call of a device that polls instead of using a socket.
    func poll(_ handset: Handset, _ name: CallName, since: UInt64) {
        guard handset.power == .foreground, handset.isPoller,
            handset.core?.calls.contains(where: { $0.name.key == name.key && $0.phase != .ended }) ?? false
        else { return }
        let cursor = ClientMessage.Cursor(epoch: name.epoch == 0 ? nil : name.epoch, seq: since)
        // If other calls may have the same callId, the poll names the peer. Without the peer it could get such a call,
        // after the end of the device's own call or while that call goes on.
        let peer = !faults.isDisjoint(with: [.strangers, .sharedNames]) ? name.pair.other(than: handset.user) : nil
        requests(
            .fetch(name.id, .init(peer: peer, since: cursor, wait: .seconds(8), device: handset.device), number: 0),
            from: handset
        )
        // Plans a poll in case the request or its response is lost. A response makes this plan void.
        planPoll(handset, name, since: since, after: 11_000)
    }

    func pollAgain(
        _ handset: Handset,
        _ id: CallID,
        _ fetch: Switchboard.Fetch,
        status: Int,
        _ body: [UInt8]
    ) {
        guard handset.isPoller, let core = handset.core,
            let call = core.calls.last(where: { $0.name.id == id && $0.phase != .ended })
        else { return }
        let object = Reading.object(body)
        // A cursor in the log of an earlier call under the callId does not apply to this call.
        let isOfIt = object?.number(of: .epoch).map { UInt32(truncatingIfNeeded: $0) == call.name.epoch } ?? false
        let next = isOfIt ? object?.number(of: Key.next).map { UInt64($0) } ?? 0 : 0
        planPoll(handset, call.name, since: next, after: fetch.wait.milliseconds > 0 && status == 200 ? 100 : 1_500)
    }

    /// Plans the next poll of a call; an earlier plan becomes void.
    func planPoll(_ handset: Handset, _ name: CallName, since: UInt64, after delay: Int64) {
        let turn = (handset.pollTurns[name.key] ?? 0) + 1
        handset.pollTurns[name.key] = turn
        after(delay, .poll(handset: handset.index, instance: handset.instance, name, since: since, turn: turn))
    }
}
