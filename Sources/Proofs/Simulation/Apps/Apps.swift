import CallClient
import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// The apps of the devices: their power, their call logic, and what it orders.
final class Apps: Part {
    let users: Users
    let network: Network
    let requests: Requests
    let server: any ServerUnderTest
    /// Receives the inputs of every client core of this world.
    var coreTrace: CoreTrace?
    private var outputs: [CoreOutput] = []

    init(_ users: Users, _ server: any ServerUnderTest) {
        self.users = users
        self.server = server
        network = users.network
        requests = users.requests
        super.init(users.course)
    }

    /// Passes one input to the call logic of a device's app and performs its outputs.
    func passToCore(_ device: SimulatedDevice, _ input: CoreInput) {
        guard let core = device.core else { return }
        // The buffer is kept for the next input. If an output causes another input meanwhile, that input gets a buffer
        // of its own.
        var batch: [CoreOutput] = []
        swap(&batch, &outputs)
        core.handle(input, at: Moment(milliseconds: now + device.skew), into: &batch)
        defer {
            batch.removeAll(keepingCapacity: true)
            swap(&batch, &outputs)
        }
        for output in batch {
            switch output {
            case .transmit(let signal): transmit(signal, from: device)
            case .send(let frame): if let link = device.link, !device.isConnecting { network.writes(frame, on: link) }
            case .post(let id, let callID, let body, let capability):
                requests.issue(.signal(id: id, body, callID), from: device, capability: capability)
            case .fetch(let id, let peer, let since, let epoch, let number, let capability):
                let cursor = epoch == 0 ? nil : ClientMessage.Cursor(epoch: epoch, seq: since)
                requests.issue(
                    .fetch(id, .init(peer: peer, since: cursor, device: device.id), number: number),
                    from: device,
                    capability: capability
                )
            case .open(let attempt): openSocket(of: device, attempt: attempt)
            case .giveUp(let attempt): giveUpSocket(of: device, attempt: attempt)
            case .register(let number, let body): requests.issue(.device(number, body), from: device)
            case .renewToken:
                after(draws.network.within(100...3_000), device, .tokenRenewed)
            case .report(let report): users.reported(report, by: device)
            }
        }
        planWake(device)
    }

    /// Plans something that happens to this run of a device's app.
    func after(_ milliseconds: Int64, _ device: SimulatedDevice, _ event: AppEvent) {
        after(milliseconds, .app(device: device.index, instance: device.instance, event))
    }

    private func planWake(_ device: SimulatedDevice) {
        guard let deadline = device.core?.deadline else { return }
        let at = max(now + 1, deadline.milliseconds - device.skew)
        if let planned = device.wakesAt, planned <= at, planned > now { return }
        device.wakesAt = at
        plan(.coreDeadline(device: device.index), at: at)
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
                || (signal.tries <= 1 ? draws.network.percent(92) : draws.network.percent(70)))
        // The signal stays in the client's outbox until there is a socket.
        if device.resendsOnlyOnNewSocket, !bySocket { return }
        let isTerse = users.leavesOutPeer(signal, of: device)
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
            network.writes(Array(text.utf8), on: link)
            return
        }
        let inner = signal.fields.isEmpty ? "{}" : "{\(signal.fields)}"
        let body =
            "{\"action\":\"\(signal.kind.rawValue)\",\"id\":\"\(signal.id)\",\"deviceId\":\"\(device.id.text)\"\(epoch)\(to)"
            + ",\"data\":\(inner)}"
        requests.issue(.signal(id: signal.id, Array(body.utf8), signal.callID), from: device)
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
            generator: SeededGenerator(seed: scenario.seed, stream: stream),
            nextNumber: { [unowned course] in course.nextNumber() }
        )
        app.begin(coreTrace)
        return app
    }

    /// Handles what was planned for one run of an app.
    func happens(_ event: AppEvent, to device: SimulatedDevice, instance: Int) {
        guard device.instance == instance else { return }
        switch event {
        case .tokenRenewed:
            device.hasExpiredToken = false
            passToCore(device, .tokenRenewed)
        case .tokenChanges(let name): changeToken(of: device, in: name)
        case .attemptFails(let attempt): attemptFailed(device, attempt)
        case .pathChanges: changePath(device)
        case .tokenArrives: learnToken(device)
        case .login: passToCore(device, .login(true))
        case .poll(let name, let since, let number):
            // Not if a later poll was planned.
            if device.pollNumbers[name.key] == number { poll(device, name, since: since) }
        case .intent(let intent): carryOut(intent, device)
        }
    }

    /// Carries out a planned intent if its call still exists; the call's epoch may have become known since.
    private func carryOut(_ intent: Intent, _ device: SimulatedDevice) {
        guard let core = device.core, device.power == .foreground else { return }
        func current(_ name: CallName) -> CallName? {
            guard name.epoch == 0 else { return name }
            return core.calls.last { $0.name.key == name.key && $0.isCaller }?.name
        }
        switch intent {
        case .call(let id, let peer, _, _):
            // A model client forgets the earlier calls under a callId. If a crash makes such a call live again, it is
            // new to the client.
            if !device.isRealApp {
                let key = CallKey(id: id, pair: Pair(device.user, peer))
                for name in device.delivered.keys where name.key == key { device.delivered[name] = nil }
            }
            passToCore(device, .intent(intent))
        case .answer(let name, let sdp):
            guard core.calls.contains(where: { $0.name == name && $0.phase == .ringing }) else { return }
            log("\(device.user.text) answers \(name) on \(device.id.text)")
            passToCore(device, .intent(.answer(name, sdp: sdp)))
        case .end(let name, let reason):
            guard let name = current(name) else { return }
            log("\(device.user.text) ends \(name) on \(device.id.text)")
            passToCore(device, .intent(.end(name, reason: reason)))
        case .send(let name, let kind, let fields):
            guard let name = current(name) else { return }
            passToCore(device, .intent(.send(name, kind, fields: fields)))
        }
    }

    // MARK: Power

    func launch(_ device: SimulatedDevice) {
        guard !device.isGone else { return }
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
        if device.link == nil { after(draws.network.within(20...400), .connect(device: device.index)) }
    }

    /// Returns whether a device rings or is in a call, in which case it is not suspended.
    private func isBusy(_ device: SimulatedDevice) -> Bool {
        device.core?.calls.contains { $0.phase != .ended } ?? false
    }

    func suspend(_ device: SimulatedDevice) {
        guard device.power == .foreground, !isBusy(device), !device.isUnnamed else { return }
        log("\(device.id.text) is suspended")
        device.power = .suspended
        guard let link = device.link else {
            passToCore(device, .inUse(false))
            return
        }
        device.link = nil
        device.isConnecting = false
        if draws.faults.percent(60) {
            // The system keeps the connection, but the app does not answer on it.
            network.links[link].isHalfOpen = true
            network.links[link].isOpenAtDevice = false
        } else {
            network.breakSocket(link)
            network.links[link].isOpenAtDevice = false
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
        device.isGone = device.isUnnamed
        guard let link = device.link else { return }
        device.link = nil
        device.isConnecting = false
        if draws.faults.percent(50) { network.links[link].isHalfOpen = true } else { network.breakSocket(link) }
        network.links[link].isOpenAtDevice = false
    }

    func goOffline(_ device: SimulatedDevice, for milliseconds: Int64) {
        log("\(device.id.text) has no network for \(milliseconds) ms")
        device.offlineUntil = now + milliseconds
        after(milliseconds + 1, device, .pathChanges)
        guard let link = device.link else { return }
        network.makeHalfOpen(link, deviceNoticesAfter: 0...2_000)
    }

    /// Gives a device another push token.
    ///
    /// A real app may hear first that the old one is not valid any more, and get the new one later.
    func replaceToken(of device: SimulatedDevice) {
        device.oldTokens.append((device.token, now))
        device.tokenCount += 1
        device.token = SimulatedDevice.pushToken(of: device.id, device.kind, device.tokenCount)
        guard device.isRealApp else { return users.register(device) }
        guard device.kind == .voip, device.power == .foreground, draws.faults.percent(30) else {
            return learnToken(device)
        }
        log("\(device.id.text) loses its push token")
        var tokens = device.tokens
        tokens[.voip] = nil
        passToCore(device, .tokens(tokens))
        let delay = draws.faults.within(100...4_000)
        after(delay, device, .tokenArrives)
    }

    /// Tells a real app the push tokens of its device; an app that does not run learns them when it does.
    private func learnToken(_ device: SimulatedDevice) {
        guard device.isRealApp, device.power == .foreground else { return }
        passToCore(device, .tokens(device.tokens))
    }

    /// Logs a device's user out of their account, and in again a while later.
    func logOut(_ device: SimulatedDevice) {
        guard device.isRealApp, device.power == .foreground, !isBusy(device) else { return }
        log("\(device.id.text) logs out")
        passToCore(device, .login(false))
        after(draws.faults.within(1_000...10_000), device, .login)
    }
}
