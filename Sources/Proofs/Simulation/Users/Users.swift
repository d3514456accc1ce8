import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// The users: how they react to a ring, and what they plan to do in a call.
final class Users: Part {
    let network: Network
    let requests: Requests
    var signalsWithoutCore = 0
    /// The most recent ends that were acknowledged.
    var oldEnds: [OldEnd] = []

    init(_ requests: Requests, _ network: Network) {
        self.requests = requests
        self.network = network
        super.init(requests.course)
    }

    /// Plans an intent of a device's user after a random delay.
    func later(_ delay: ClosedRange<Int64>, _ device: SimulatedDevice, _ intent: Intent) {
        after(draws.users.within(delay), .app(device: device.index, instance: device.instance, .intent(intent)))
    }

    func candidateField() -> String {
        "\"candidate\":{\"candidate\":\"candidate:\(course.nextNumber()) 1 udp 1 0.0.0.0 9 typ host\"}"
    }

    /// Returns the field of a new description.
    func descriptionField() -> String { description(course.nextNumber()) }

    private func description(_ number: Int) -> String { "\"sdp\":\"v=0\\r\\no=- \(number) 1 IN IP4 0.0.0.0\\r\\n\"" }

    func fields(of kind: SignalKind) -> String {
        let number = course.nextNumber()
        return switch kind {
        case .offer, .answer: description(number)
        case .ice: candidateField()
        case .update: "\"hold\":true"
        case .dtmf: "\"digits\":\"5\""
        case .info: "\"data\":1"
        case .ringing, .connected, .end: ""
        }
    }

    /// Sends a signal from a device without the knowledge of its core.
    func sendWithoutCore(
        _ device: SimulatedDevice,
        _ kind: SignalKind,
        _ name: CallName,
        fields: String,
        epoch: UInt32? = nil,
        prefix: String = "f"
    ) {
        signalsWithoutCore += 1
        let peer = name.pair.other(than: device.user)
        let more = fields.isEmpty ? "" : "," + fields
        let said = epoch.map { ",\"epoch\":\($0)" } ?? ""
        if kind == .end, draws.users.percent(55) {
            requests.issue(.end(id: "f\(signalsWithoutCore)", name.id), from: device)
        } else if let link = device.link, !device.isConnecting, draws.users.percent(70) {
            let text =
                "{\"type\":\"\(kind.rawValue)\",\"id\":\"\(prefix)\(signalsWithoutCore)\",\"callId\":\"\(name.id.text)\",\"to\":\"\(peer.text)\"\(said)\(more)}"
            network.writes(Array(text.utf8), on: link)
        } else {
            let text =
                "{\"action\":\"\(kind.rawValue)\",\"id\":\"\(prefix)\(signalsWithoutCore)\",\"deviceId\":\"\(device.id.text)\",\"to\":\"\(peer.text)\"\(said),\"data\":{\(fields)}}"
            requests.issue(.signal(id: "f\(signalsWithoutCore)", Array(text.utf8), name.id), from: device)
        }
    }

    /// Plans the next poll of a call; an earlier plan becomes void.
    func planPoll(_ device: SimulatedDevice, _ name: CallName, since: UInt64, after delay: Int64) {
        let number = (device.pollNumbers[name.key] ?? 0) + 1
        device.pollNumbers[name.key] = number
        after(delay, .app(device: device.index, instance: device.instance, .poll(name, since: since, number: number)))
    }

    /// Registers the push tokens of a device, without its app; an unnamed one has none.
    func register(_ device: SimulatedDevice) {
        guard !device.isUnnamed else { return }
        let registration = DeviceRegistration(
            tokens: device.tokens,
            bundleID: "com.example.app",
            platform: device.platform,
            device: device.id,
            environment: device.index % 3 == 0 ? .sandbox : nil
        )
        requests.issue(.other(.devices(.register(registration))), from: device)
    }

    // MARK: Reports of devices

    func reported(_ report: Report, by device: SimulatedDevice) {
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
            if reason == .answeredElsewhere, draws.users.percent(30) {
                // This is a decline that comes too late.
                sendWithoutCore(device, .end, name, fields: "")
            }
            if let replacedBy, let core = device.core,
                let winner = core.calls.last(where: { $0.name.id == replacedBy && $0.phase == .ringing })
            {
                later(100...800, device, .answer(winner.name, sdp: course.nextNumber()))
            }
        }
    }

    private func checkRingAfter(_ name: CallName) -> Int64 {
        guard let number = checker.newest[name.key], let call = checker.calls[number], call.name == name else {
            return 127_000
        }
        return (call.record.ringUntil - call.record.startedAt).milliseconds + 6_500 + scenario.longestLeap
    }

    private func decide(_ name: CallName, _ device: SimulatedDevice) {
        let answer = Intent.answer(name, sdp: course.nextNumber())
        switch draws.users.below(100) {
        case 0..<30: later(200...12_000, device, answer)
        case 30..<48:
            // Several devices answer in the same instant.
            let at = (now / 3_000 + 1) * 3_000
            plan(.app(device: device.index, instance: device.instance, .intent(answer)), at: at)
        case 48..<58: later(200...12_000, device, .end(name, reason: draws.users.percent(30) ? .busy : nil))
        case 58..<62:
            later(100...500, device, .send(name, .ice, fields: candidateField()))
            later(500...3_000, device, answer)
        default: break
        }
    }

    private func talk(_ name: CallName, _ device: SimulatedDevice) {
        for _ in 0..<draws.users.below(3) { later(0...800, device, .send(name, .ice, fields: candidateField())) }
        if draws.users.percent(65) { later(100...2_500, device, .send(name, .connected, fields: "")) }
        if draws.users.percent(25) {
            later(500...20_000, device, .send(name, .update, fields: "\"hold\":\(draws.users.percent(50))"))
        }
        if draws.users.percent(20) { later(500...20_000, device, .send(name, .update, fields: "\"audioMuted\":true")) }
        if draws.users.percent(20) { later(500...20_000, device, .send(name, .dtmf, fields: "\"digits\":\"1#\"")) }
        if draws.users.percent(20) {
            later(500...20_000, device, .send(name, .info, fields: "\"data\":{\"n\":\(course.nextNumber())}"))
        }
        if draws.users.percent(20) {
            later(500...15_000, device, .send(name, .offer, fields: descriptionField()))
        }
        if device.isUnnamed, draws.unnamed.percent(70) {
            let change = AppEvent.tokenChanges(name)
            let delay = draws.unnamed.within(500...20_000)
            after(delay, .app(device: device.index, instance: device.instance, change))
        }
        if draws.users.percent(45) {
            later(1_000...50_000, device, .end(name, reason: draws.users.percent(10) ? .failed : nil))
        }
    }

    /// Plans the answer to a new description of the peer.
    private func renegotiate(_ name: CallName, _ device: SimulatedDevice) {
        guard let call = device.core?.calls.last(where: { $0.name == name }), call.phase == .talking else { return }
        later(50...1_000, device, .send(name, .answer, fields: descriptionField()))
    }
}
