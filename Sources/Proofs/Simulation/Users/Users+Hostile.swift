import CallCore
import CallPorts
import CallWire
import SeededRandom
import Switchboard

/// Users with malicious and broken clients, and with more data than a connection takes.
extension Users {
    func injectFault(_ kind: Int) {
        let names = checker.recent
        guard let number = draws.users.pick(names), let call = checker.calls[number],
            let device = draws.users.pick(network.devices)
        else {
            return
        }
        switch kind {
        case 0, 1: probe(call.name)
        case 2: wrongEpoch(call, device)
        case 3: sendGarbage(device)
        case 4 where draws.users.percent(1): flood(call)
        case 5 where draws.users.percent(30): hangUpByRequest(call)
        default: sendRandomSignal(call)
        }
    }

    /// Ends a call by a request of the calling device, without its core, as an extension of its app may do.
    private func hangUpByRequest(_ call: InvariantChecker.CommittedCall) {
        guard call.isLive, let caller = network.devices.first(where: { $0.id == call.record.legs.first?.device.id }),
            caller.isRealApp
        else { return }
        signalsWithoutCore += 1
        requests.issue(.end(id: "f\(signalsWithoutCore)", call.name.id), from: caller)
    }

    /// Makes any device send any signal in any state.
    private func sendRandomSignal(_ call: InvariantChecker.CommittedCall) {
        let near = network.devices.filter { $0.user == call.record.caller || $0.user == call.record.callee }
        guard let device = draws.users.pick(near), let kind = draws.users.pick(SignalKind.allCases) else { return }
        var name = call.name
        if !device.isRealApp, changesUnseen(kind, name, for: device) { return }
        // Sometimes the signal names a call that never existed.
        if kind != .offer, draws.users.percent(5), let id = CallID("none\(signalsWithoutCore)") { name.id = id }
        sendWithoutCore(device, kind, name, fields: fields(of: kind))
    }

    /// Returns whether a signal in a model device's name, sent without its core, would leave the device with a wrong
    /// view of its call.
    ///
    /// Only real apps fetch, so only they notice that such a signal has ended their call. Only they end a call that is
    /// over for them and was then answered in their name.
    private func changesUnseen(_ kind: SignalKind, _ name: CallName, for device: SimulatedDevice) -> Bool {
        guard let calls = device.core?.calls else { return false }
        return switch kind {
        // A DELETE names no peer: it may end the call with another peer under the same callId.
        case .end: calls.contains { $0.name.id == name.id && $0.phase != .ended }
        case .answer: calls.contains { $0.name.key == name.key && $0.phase == .ended }
        case .offer, .ringing, .ice, .connected, .update, .dtmf, .info: false
        }
    }

    private func wrongEpoch(_ call: InvariantChecker.CommittedCall, _ device: SimulatedDevice) {
        guard device.user == call.record.caller || device.user == call.record.callee else { return }
        sendWithoutCore(device, .info, call.name, fields: "\"data\":0", epoch: call.record.epoch + 70_000, prefix: "w")
    }

    /// Makes the calling device send a flood of signals; the log must not grow beyond its limits.
    private func flood(_ call: InvariantChecker.CommittedCall) {
        guard call.isLive, let device = network.devices.first(where: { $0.id == call.record.legs.first?.device.id })
        else {
            return
        }
        log("\(device.id.text) floods \(call.name)")
        let bulk = String(repeating: "x", count: draws.users.percent(50) ? 2_000 : 10)
        for number in 0..<560 {
            let say = Intent.send(call.name, .info, fields: "\"data\":\"\(bulk)\(number)\"")
            after(Int64(number) * 25, .app(device: device.index, instance: device.instance, .intent(say)))
        }
    }

    private func sendGarbage(_ device: SimulatedDevice) {
        guard let link = device.link, !device.isConnecting else { return }
        let texts = [
            "{", "[]", "{\"type\":\"fly\"}", "{\"type\":\"ice\"}", "{\"type\":\"offer\",\"sdp\":\"x\"}", "\"\"",
            "{\"type\":\"end\",\"callId\":\"\(String(repeating: "x", count: 200))\"}",
            "{\"type\":\"sync\",\"calls\":{\"call\":0,\"zzz\":3}}",
        ]
        network.writes(Array((draws.users.pick(texts) ?? "").utf8), on: link)
    }

    /// Makes an outsider ask about a call of other users, and about a call that does not exist.
    private func probe(_ name: CallName) {
        guard let outsider = network.devices.last, outsider.user.text == "99",
            !requests.outsidersNames.contains(name.id),
            let unknown = CallID("nobody\(signalsWithoutCore)")
        else { return }
        signalsWithoutCore += 1
        for id in [name.id, unknown] {
            let asked: Switchboard.Request
            switch signalsWithoutCore % 3 {
            case 0: asked = .fetch(id, .init(device: outsider.id))
            case 1: asked = .end(id, device: outsider.id)
            default:
                let body = Array("{\"action\":\"info\",\"data\":{\"data\":1}}".utf8)
                // The body is well-formed: the request is refused because of its sender.
                guard let message = try? SignalMessage(body: body, callIDInPath: id, ringTimeout: .seconds(45)) else {
                    return
                }
                asked = .signal(message)
            }
            requests.issue(.probe(asked, id), from: outsider)
        }
    }

    /// Makes a device send many messages at once, in its call under a callId.
    func burst(_ device: SimulatedDevice, _ id: CallID) {
        guard let call = device.core?.calls.last(where: { $0.name.id == id && $0.phase != .ended }) else { return }
        let bulk = String(repeating: "x", count: draws.users.pick([10, 500, 2_000]) ?? 10)
        let count = draws.users.within(20...120)
        log("\(device.id.text) says \(count) × \(bulk.utf8.count) bytes at once in \(call.name)")
        for _ in 0..<count {
            let fields = "\"data\":{\"n\":\(course.nextNumber()),\"bulk\":\"\(bulk)\"}"
            let say = Intent.send(call.name, .info, fields: fields)
            after(0, .app(device: device.index, instance: device.instance, .intent(say)))
        }
    }
}
