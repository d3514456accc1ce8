import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// A planned action of a user.
enum Step {
    case call(device: Int, peer: UserID, CallID, ring: Int64?)
    case hostile(Int)
    case burst(device: Int, CallID)
    case block(device: Int, UserID, isBlocked: Bool)
    case disturb(device: Int, for: Int64?)
    case token(device: Int)
    case logout(device: Int)
    case launch(device: Int)
    case outsiderCall
    case oldEnd
}

/// Simulates users: who they are, which users they call, and how they react to a ring.
extension SimulatedWorld {
    func makeDevices() {
        var generator = SeededGenerator(seed: seed, stream: 10)
        let names = ["10", "11", "12", "a-b"].compactMap { UserID($0) }
        let count = 2 + generator.below(3)
        // A stream of its own: a world without other routes is the same as before there were any.
        var routes = SeededGenerator(seed: seed, stream: 11)
        let hasRoutes = routes.percent(33)
        for (number, user) in names.prefix(count).enumerated() {
            for device in 0..<(1 + generator.below(3)) {
                let kind: PushKind =
                    !hasRoutes || routes.percent(30)
                    ? .voip : routes.percent(40) ? .firebase : routes.percent(60) ? .web : .alert
                add(user, "p\(number)\(device)-", kind, &generator)
            }
        }
        if let outsider = UserID("99") { add(outsider, "x0-", .voip, &generator) }
        for index in devices.indices {
            let device = devices[index]
            if generator.percent(faults.contains(.power) ? 70 : 100) {
                after(generator.within(0...300), .script(plan(.launch(device: index))))
            }
            // Every device registers, whether its app is launched or not. The request arrives when the server has
            // started.
            register(device)
        }
    }

    private func add(_ user: UserID, _ name: String, _ kind: PushKind, _ generator: inout SeededGenerator) {
        guard let device = DeviceID(name) else { return }
        let isPoller = generator.percent(8) && user.text != "99"
        let skewed = faults.contains(.skew) && generator.percent(25)
        devices.append(
            SimulatedDevice(
                index: devices.count,
                user: user,
                device: device,
                fingerprint: TokenFingerprint(rawValue: UInt64(devices.count) + 1),
                skew: skewed ? generator.within(-40_000...40_000) : generator.within(-300...300),
                isPoller: isPoller,
                isRealApp: !isPoller && generator.percent(65),
                environment: generator.percent(70) ? .production : .sandbox,
                kind: kind
            )
        )
        guard hasNodes, let added = devices.last, !added.isPoller, !added.isRealApp else { return }
        added.resendsOnlyOnNewSocket = clientDraws.percent(50)
    }

    func plan(_ step: Step) -> Int {
        script.append(step)
        return script.count - 1
    }

    func apply(_ fault: Faults) {
        if fault == .store, storeIsStalled, !hasNodes {
            recover()
            return
        }
        guard !isHealed else { return }
        let nodeFaults: Faults = [.crashes, .restarts, .takeOver, .store]
        if hasNodes, nodeFaults.contains(fault) { return applyToNodes(fault) }
        switch fault {
        case .disconnects: if let link = faultDraws.pick(openLinks) { breakSocket(link) }
        case .halfOpen:
            if let link = faultDraws.pick(openLinks) { makeHalfOpen(link, deviceNoticesAfter: 4_000...25_000) }
        case .offline:
            guard let device = faultDraws.pick(devices) else { return }
            if faultDraws.percent(30) { return changePath(device) }
            goOffline(device, for: faultDraws.within(500...15_000))
        case .power:
            guard let device = faultDraws.pick(devices) else { return }
            switch faultDraws.below(4) {
            case 0: suspend(device)
            case 1: kill(device)
            default: if device.power != .foreground { launch(device) }
            }
        case .crashes: crash()
        case .restarts: stopInOrder()
        case .store: stall()
        case .delays: latencyUntil = now + faultDraws.within(500...3_000)
        case .bursts: if let link = faultDraws.pick(openLinks) { slowDown(link) }
        default: break
        }
    }

    private var openLinks: [Int] { devices.compactMap(\.link) }

    func perform(_ step: Step) {
        guard !isHealed else { return }
        switch step {
        case .call(let index, let peer, let id, let ring):
            let device = devices[index]
            if device.power != .foreground { launch(device) }
            guard device.core?.calls.contains(where: { $0.phase != .ended && $0.name.id == id }) != true else {
                return
            }
            statistics.attempts += 1
            sdpCount += 1
            log("\(device.user.text) calls \(peer.text) on \(device.id.text): \(id.text)")
            passToCore(device, .intent(.call(id, peer: peer, ringSeconds: ring, sdp: sdpCount)))
            let name = CallName(id: id, pair: Pair(device.user, peer), epoch: 0)
            if device.isPoller {
                planPoll(device, name, since: 0, after: 500)
            }
            for _ in 0..<userDraws.below(3) { later(0...1_500, device, .send(name, .ice, fields: candidateField())) }
            if userDraws.percent(20) { later(500...40_000, device, .end(name, reason: nil)) }
            if userDraws.percent(4) {
                sdpCount += 1
                later(300...5_000, device, .send(name, .offer, fields: description(sdpCount)))
            }
        case .hostile(let kind): injectFault(kind)
        case .block(let index, let user, let isBlocked):
            log("\(devices[index].user.text) \(isBlocked ? "blocks" : "unblocks") \(user.text)")
            requests(.other(.blocks(isBlocked ? .block(user) : .unblock(user))), from: devices[index])
        case .disturb(let index, let span):
            let until = span.map { Moment(milliseconds: now + $0) }
            log("\(devices[index].user.text) is not to be disturbed")
            requests(.other(.blocks(.doNotDisturb(until: until))), from: devices[index])
        case .token(let index): replaceToken(of: devices[index])
        case .logout(let index): logOut(devices[index])
        case .launch(let index): launch(devices[index])
        case .burst(let index, let id): burst(devices[index], id)
        case .outsiderCall: offerAsOutsider()
        case .oldEnd: repeatOldEnd()
        }
    }

    /// Plans an intent of a device's user after a random delay.
    func later(_ delay: ClosedRange<Int64>, _ device: SimulatedDevice, _ intent: Intent) {
        after(userDraws.within(delay), .intent(device: device.index, instance: device.instance, intent))
    }

    func candidateField() -> String {
        sdpCount += 1
        return "\"candidate\":{\"candidate\":\"candidate:\(sdpCount) 1 udp 1 0.0.0.0 9 typ host\"}"
    }

    func description(_ number: Int) -> String { "\"sdp\":\"v=0\\r\\no=- \(number) 1 IN IP4 0.0.0.0\\r\\n\"" }

    /// Carries out a planned intent if its call still exists; the call's epoch may have become known since.
    func carryOut(_ intent: Intent, _ device: SimulatedDevice, _ instance: Int) {
        guard device.instance == instance, let core = device.core, device.power == .foreground else { return }
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

    // MARK: Reports of devices

    func take(_ report: Report, from device: SimulatedDevice) {
        switch report {
        case .silenced(let name):
            log("\(device.id.text) does not show \(name)")
            checker.silenced.insert(checker.target(name, device.id))
        case .rang(let name):
            log("\(device.id.text) rings: \(name)")
            checker.silenced.remove(checker.target(name, device.id))
            checker.rang(name, on: device, at: now)
            let ring = (device.rings[name] ?? 0) + 1
            device.rings[name] = ring
            after(checkRingAfter(name), .checkRing(device: device.index, instance: device.instance, name, ring: ring))
            decide(name, device)
            if device.isPoller {
                planPoll(device, name, since: 0, after: 300)
            }
        case .arrived(let name, let delivery):
            device.delivered[name, default: Deliveries()].arrived.insert("\(delivery.device) \(delivery.id ?? "")")
            device.delivered[name]?.arrivedSeqs.insert(delivery.seq)
        case .delivered(let name, let delivery):
            checker.delivered(delivery, of: name, to: device)
            if delivery.kind == .offer, delivery.seq > 0 { renegotiate(name, device) }
        case .broken(let invariant, let message): fail(invariant, message)
        case .acknowledged(let name, let seq, let id, let kind):
            statistics.acknowledged += 1
            if kind == .end { acknowledgedEnd(name, id, by: device) }
            checker.acknowledged(name, seq: seq, id: id, kind: kind, by: device, at: now)
        case .refused(let name, let kind, let code): log("\(device.id.text): \(kind) of \(name) refused, \(code)")
        case .answered(let name):
            log("\(device.id.text) talks: \(name)")
            talk(name, device)
        case .ended(let name, let reason, let cause, let replacedBy):
            log("\(device.id.text): \(name) over, \(reason?.rawValue ?? "?") (\(cause))")
            if reason == .answeredElsewhere, userDraws.percent(30) {
                // This is a decline that comes too late.
                sendWithoutCore(device, .end, name, fields: "")
            }
            if let replacedBy, let core = device.core,
                let winner = core.calls.last(where: { $0.name.id == replacedBy && $0.phase == .ringing })
            {
                sdpCount += 1
                later(100...800, device, .answer(winner.name, sdp: sdpCount))
            }
        }
    }

    private func decide(_ name: CallName, _ device: SimulatedDevice) {
        sdpCount += 1
        let answer = Intent.answer(name, sdp: sdpCount)
        switch userDraws.below(100) {
        case 0..<30: later(200...12_000, device, answer)
        case 30..<48:
            // Several devices answer in the same instant.
            let at = (now / 3_000 + 1) * 3_000
            events.plan(.intent(device: device.index, instance: device.instance, answer), at: at)
        case 48..<58: later(200...12_000, device, .end(name, reason: userDraws.percent(30) ? .busy : nil))
        case 58..<62:
            later(100...500, device, .send(name, .ice, fields: candidateField()))
            later(500...3_000, device, answer)
        default: break
        }
    }

    private func talk(_ name: CallName, _ device: SimulatedDevice) {
        for _ in 0..<userDraws.below(3) { later(0...800, device, .send(name, .ice, fields: candidateField())) }
        if userDraws.percent(65) { later(100...2_500, device, .send(name, .connected, fields: "")) }
        if userDraws.percent(25) {
            later(500...20_000, device, .send(name, .update, fields: "\"hold\":\(userDraws.percent(50))"))
        }
        if userDraws.percent(20) { later(500...20_000, device, .send(name, .update, fields: "\"audioMuted\":true")) }
        if userDraws.percent(20) { later(500...20_000, device, .send(name, .dtmf, fields: "\"digits\":\"1#\"")) }
        if userDraws.percent(20) {
            sdpCount += 1
            later(500...20_000, device, .send(name, .info, fields: "\"data\":{\"n\":\(sdpCount)}"))
        }
        if userDraws.percent(20) {
            sdpCount += 1
            later(500...15_000, device, .send(name, .offer, fields: description(sdpCount)))
        }
        if userDraws.percent(45) {
            later(1_000...50_000, device, .end(name, reason: userDraws.percent(10) ? .failed : nil))
        }
    }

    /// Plans the answer to a new description of the peer.
    private func renegotiate(_ name: CallName, _ device: SimulatedDevice) {
        guard let call = device.core?.calls.last(where: { $0.name == name }), call.phase == .talking else { return }
        sdpCount += 1
        later(50...1_000, device, .send(name, .answer, fields: description(sdpCount)))
    }
}
