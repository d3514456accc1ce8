import CallClient
import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// Simulates devices: their power, the start and kill of their apps, and the outputs of their apps' call logic.
extension SimulatedWorld {
    /// Passes one input to the call logic of a device's app and performs its outputs.
    func passToCore(_ device: SimulatedDevice, _ input: CoreInput) {
        guard let core = device.core else { return }
        // The buffer is kept for the next input. If an output causes another input meanwhile, that input gets a buffer
        // of its own.
        var batch: [CoreOutput] = []
        swap(&batch, &coreOutputs)
        core.handle(input, at: Moment(milliseconds: now + device.skew), into: &batch)
        defer {
            batch.removeAll(keepingCapacity: true)
            swap(&batch, &coreOutputs)
        }
        for output in batch {
            switch output {
            case .transmit(let signal): transmit(signal, from: device)
            case .send(let frame): if let link = device.link, !device.isConnecting { writes(frame, on: link) }
            case .post(let id, let callID, let body, let capability):
                requests(.signal(id: id, body, callID), from: device, capability: capability)
            case .fetch(let id, let peer, let since, let epoch, let number, let capability):
                let cursor = epoch == 0 ? nil : ClientMessage.Cursor(epoch: epoch, seq: since)
                requests(
                    .fetch(id, .init(peer: peer, since: cursor, device: device.id), number: number),
                    from: device,
                    capability: capability
                )
            case .open(let attempt): openSocket(of: device, attempt: attempt)
            case .giveUp(let attempt): giveUpSocket(of: device, attempt: attempt)
            case .register(let number, let body): requests(.device(number, body), from: device)
            case .renewToken:
                after(networkDraws.within(100...3_000), .tokenRenewed(device: device.index, instance: device.instance))
            case .report(let report): take(report, from: device)
            }
        }
        planWake(device)
    }

    private func planWake(_ device: SimulatedDevice) {
        guard let deadline = device.core?.deadline else { return }
        let at = max(now + 1, deadline.milliseconds - device.skew)
        if let planned = device.wakesAt, planned <= at, planned > now { return }
        device.wakesAt = at
        events.plan(.coreDeadline(device: device.index), at: at)
    }

    func wake(_ device: SimulatedDevice) {
        guard let at = device.wakesAt, at <= now else { return }
        device.wakesAt = nil
        guard device.power == .foreground, let core = device.core else { return }
        if let deadline = core.deadline, deadline.milliseconds - device.skew <= now {
            passToCore(device, .deadlineReached)
        } else {
            planWake(device)
        }
    }

    private func transmit(_ signal: Outgoing, from device: SimulatedDevice) {
        let isOnSocket = device.link != nil && !device.isConnecting
        // The first try goes over the socket in most cases, if there is one; a resend is a request more often. Signals
        // on the socket and signals in requests may overtake each other.
        let bySocket =
            isOnSocket
            && (device.resendsOnlyOnNewSocket
                || (signal.tries <= 1 ? networkDraws.percent(92) : networkDraws.percent(70)))
        // The signal stays in the client's outbox until there is a socket.
        if device.resendsOnlyOnNewSocket, !bySocket { return }
        let isTerse = leavesOutPeer(signal, of: device)
        if isTerse {
            checker.intendedCall["\(device.id.text) \(signal.id)"] =
                CallKey(id: signal.callID, pair: Pair(device.user, signal.peer))
        }
        let epoch = signal.epoch > 0 && !isTerse ? ",\"epoch\":\(signal.epoch)" : ""
        let to = isTerse ? "" : ",\"to\":\"\(signal.peer.text)\""
        let fields = signal.fields.isEmpty ? "" : "," + signal.fields
        if bySocket, let link = device.link {
            let text =
                "{\"type\":\"\(signal.kind.rawValue)\",\"id\":\"\(signal.id)\",\"callId\":\"\(signal.callID.text)\"\(epoch)\(fields)"
                + "\(to)}"
            writes([UInt8](repeating: 0, count: 0) + Array(text.utf8), on: link)
            return
        }
        let inner = signal.fields.isEmpty ? "{}" : "{\(signal.fields)}"
        let body =
            "{\"action\":\"\(signal.kind.rawValue)\",\"id\":\"\(signal.id)\",\"deviceId\":\"\(device.id.text)\"\(epoch)\(to)"
            + ",\"data\":\(inner)}"
        requests(.signal(id: signal.id, Array(body.utf8), signal.callID), from: device)
    }

    private func core(of device: SimulatedDevice) -> any DeviceCore {
        guard device.isRealApp else {
            return ModelClient(
                user: device.user,
                device: device.id,
                instance: device.instance,
                resendsOnlyOnNewSocket: device.resendsOnlyOnNewSocket
            )
        }
        let stream = 1_000 + UInt64(device.index) * 1_000 + UInt64(device.instance)
        let app = AppClient(
            user: device.user,
            device: device.id,
            instance: device.instance,
            environment: device.index % 3 == 0 ? .sandbox : nil,
            generator: SeededGenerator(seed: seed, stream: stream),
            nextNumber: { [unowned self] in
                sdpCount += 1
                return sdpCount
            }
        )
        app.begin(coreTrace)
        return app
    }

    func renewed(_ device: SimulatedDevice) {
        device.hasExpiredToken = false
        passToCore(device, .tokenRenewed)
    }

    // MARK: Power

    func launch(_ device: SimulatedDevice) {
        let isNew = device.power == .killed || device.core == nil
        if isNew {
            device.instance += 1
            device.core = core(of: device)
            device.delivered = [:]
            device.link = nil
            device.isConnecting = false
            device.mayReconnectAt = 0
            // The next run of the app may refuse the call for a reason of its own: it has no room for it.
            checker.silenced = checker.silenced.filter { $0.device != device.id }
            log("\(device.id.text) starts its app")
        } else {
            log("\(device.id.text) wakes its app")
        }
        device.power = .foreground
        device.backoff = 200
        passToCore(device, .inUse(true))
        learnToken(device)
        if isNew { passToCore(device, .login(true)) }
        planWake(device)
        if device.link == nil { after(networkDraws.within(20...400), .connect(device: device.index)) }
    }

    /// Returns whether a device rings or is in a call, in which case it is not suspended.
    func isBusy(_ device: SimulatedDevice) -> Bool { device.core?.calls.contains { $0.phase != .ended } ?? false }

    func suspend(_ device: SimulatedDevice) {
        guard device.power == .foreground, !isBusy(device) else { return }
        log("\(device.id.text) is suspended")
        device.power = .suspended
        guard let link = device.link else {
            passToCore(device, .inUse(false))
            return
        }
        device.link = nil
        device.isConnecting = false
        if faultDraws.percent(60) {
            // The system keeps the connection, but the app does not answer on it.
            links[link].isHalfOpen = true
            links[link].isOpenAtDevice = false
        } else {
            breakSocket(link)
            links[link].isOpenAtDevice = false
        }
        passToCore(device, .inUse(false))
        passToCore(device, .disconnected)
    }

    func kill(_ device: SimulatedDevice) {
        guard device.power != .killed else { return }
        log("\(device.id.text) is killed")
        device.power = .killed
        device.core = nil
        device.wakesAt = nil
        device.instance += 1
        guard let link = device.link else { return }
        device.link = nil
        device.isConnecting = false
        if faultDraws.percent(50) { links[link].isHalfOpen = true } else { breakSocket(link) }
        links[link].isOpenAtDevice = false
    }

    func goOffline(_ device: SimulatedDevice, for milliseconds: Int64) {
        log("\(device.id.text) has no network for \(milliseconds) ms")
        device.offlineUntil = now + milliseconds
        after(milliseconds + 1, .pathChanges(device: device.index, instance: device.instance))
        guard let link = device.link else { return }
        makeHalfOpen(link, deviceNoticesAfter: 0...2_000)
    }

    /// Gives a device another push token.
    ///
    /// A real app may hear first that the old one is not valid any more, and get the new one later.
    func replaceToken(of device: SimulatedDevice) {
        device.oldTokens.append((device.token, now))
        device.tokenCount += 1
        device.token = SimulatedDevice.pushToken(of: device.id, device.kind, device.tokenCount)
        guard device.isRealApp else { return register(device) }
        guard device.kind == .voip, device.power == .foreground, faultDraws.percent(30) else {
            return learnToken(device)
        }
        log("\(device.id.text) loses its push token")
        var tokens = device.tokens
        tokens.voip = nil
        passToCore(device, .tokens(tokens))
        let delay = faultDraws.within(100...4_000)
        after(delay, .tokenArrives(device: device.index, instance: device.instance))
    }

    /// Tells a real app the push tokens of its device; an app that does not run learns them when it does.
    func learnToken(_ device: SimulatedDevice) {
        guard device.isRealApp, device.power == .foreground else { return }
        passToCore(device, .tokens(device.tokens))
    }

    /// Registers the push tokens of a device, without its app.
    func register(_ device: SimulatedDevice) {
        var registration = DeviceRegistration(
            voipToken: device.tokens.voip,
            alertToken: device.tokens.alert,
            fcmToken: device.tokens.firebase,
            bundleID: "com.example.app",
            platform: device.platform,
            device: device.id,
            environment: device.index % 3 == 0 ? .sandbox : nil
        )
        registration.webPush = device.tokens.web.map {
            WebPushMember(endpoint: $0.endpoint, p256dh: $0.p256dh, auth: $0.auth)
        }
        requests(.other(.devices(.register(registration))), from: device)
    }

    /// Sends a planned poll, unless the app has been started again or a later poll was planned.
    func pollIsDue(_ device: SimulatedDevice, _ instance: Int, _ name: CallName, since: UInt64, _ number: Int) {
        guard device.instance == instance, device.pollNumbers[name.key] == number else { return }
        poll(device, name, since: since)
    }

    /// Sends the next poll for a live call of a device that polls instead of using a socket.
    func poll(_ device: SimulatedDevice, _ name: CallName, since: UInt64) {
        guard device.power == .foreground, device.isPoller,
            device.core?.calls.contains(where: { $0.name.key == name.key && $0.phase != .ended }) ?? false
        else { return }
        let cursor = ClientMessage.Cursor(epoch: name.epoch == 0 ? nil : name.epoch, seq: since)
        // If other calls may have the same callId, the poll names the peer. Without the peer it could get such a call,
        // after the end of the device's own call or while that call goes on.
        let peer = !faults.isDisjoint(with: [.outsiders, .sharedNames]) ? name.pair.other(than: device.user) : nil
        requests(
            .fetch(name.id, .init(peer: peer, since: cursor, wait: .seconds(8), device: device.id), number: 0),
            from: device
        )
        // Plans a poll in case the request or its response is lost. A response makes this plan void.
        planPoll(device, name, since: since, after: 11_000)
    }

    func pollAgain(
        _ device: SimulatedDevice,
        _ id: CallID,
        _ fetch: Switchboard.Fetch,
        status: Int,
        _ body: [UInt8]
    ) {
        guard device.isPoller, let core = device.core,
            let call = core.calls.last(where: { $0.name.id == id && $0.phase != .ended })
        else { return }
        let object = MessageReader.object(body)
        // A cursor in the log of an earlier call under the callId does not apply to this call.
        let isOfIt = object?.number(of: .epoch).map { UInt32(truncatingIfNeeded: $0) == call.name.epoch } ?? false
        let next = isOfIt ? object?.number(of: Key.next).map { UInt64($0) } ?? 0 : 0
        planPoll(device, call.name, since: next, after: fetch.wait.milliseconds > 0 && status == 200 ? 100 : 1_500)
    }

    /// Plans the next poll of a call; an earlier plan becomes void.
    func planPoll(_ device: SimulatedDevice, _ name: CallName, since: UInt64, after delay: Int64) {
        let number = (device.pollNumbers[name.key] ?? 0) + 1
        device.pollNumbers[name.key] = number
        after(delay, .poll(device: device.index, instance: device.instance, name, since: since, number: number))
    }
}
