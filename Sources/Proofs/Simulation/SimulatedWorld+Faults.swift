import CallCore
import CallPorts
import CallWire
import Switchboard

/// Injects malicious and broken clients.
extension SimulatedWorld {
    func injectFault(_ kind: Int) {
        let names = checker.recent
        guard let number = userDraws.pick(names), let call = checker.calls[number], let device = userDraws.pick(devices)
        else {
            return
        }
        switch kind {
        case 0, 1: probe(call.name)
        case 2: wrongEpoch(call, device)
        case 3: sendGarbage(device)
        case 4 where userDraws.percent(1): flood(call)
        case 5 where userDraws.percent(30): hangUpByRequest(call)
        default: sendRandomSignal(call)
        }
    }

    /// Ends a call by a request of the calling device, without its core, as an extension of its app may do.
    private func hangUpByRequest(_ call: InvariantChecker.CommittedCall) {
        guard call.isLive, let caller = devices.first(where: { $0.id == call.record.legs.first?.device.id }),
            caller.isRealApp
        else { return }
        signalsWithoutCore += 1
        requests(.end(id: "f\(signalsWithoutCore)", call.name.id), from: caller)
    }

    /// Makes any device send any signal in any state.
    private func sendRandomSignal(_ call: InvariantChecker.CommittedCall) {
        let near = devices.filter { $0.user == call.record.caller || $0.user == call.record.callee }
        guard let device = userDraws.pick(near), let kind = userDraws.pick(SignalKind.allCases) else { return }
        var name = call.name
        if !device.isRealApp, changesUnseen(kind, name, for: device) { return }
        // Sometimes the signal names a call that never existed.
        if kind != .offer, userDraws.percent(5), let id = CallID("none\(signalsWithoutCore)") { name.id = id }
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

    func fields(of kind: SignalKind) -> String {
        sdpCount += 1
        return switch kind {
        case .offer, .answer: description(sdpCount)
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
        if kind == .end, userDraws.percent(55) {
            requests(.end(id: "f\(signalsWithoutCore)", name.id), from: device)
        } else if let link = device.link, !device.isConnecting, userDraws.percent(70) {
            let text =
                "{\"type\":\"\(kind.rawValue)\",\"id\":\"\(prefix)\(signalsWithoutCore)\",\"callId\":\"\(name.id.text)\",\"to\":\"\(peer.text)\"\(said)\(more)}"
            writes(Array(text.utf8), on: link)
        } else {
            let text =
                "{\"action\":\"\(kind.rawValue)\",\"id\":\"\(prefix)\(signalsWithoutCore)\",\"deviceId\":\"\(device.id.text)\",\"to\":\"\(peer.text)\"\(said),\"data\":{\(fields)}}"
            requests(.signal(id: "f\(signalsWithoutCore)", Array(text.utf8), name.id), from: device)
        }
    }

    private func wrongEpoch(_ call: InvariantChecker.CommittedCall, _ device: SimulatedDevice) {
        guard device.user == call.record.caller || device.user == call.record.callee else { return }
        sendWithoutCore(device, .info, call.name, fields: "\"data\":0", epoch: call.record.epoch + 70_000, prefix: "w")
    }

    /// Makes the calling device send a flood of signals; the log must not grow beyond its limits.
    private func flood(_ call: InvariantChecker.CommittedCall) {
        guard call.isLive, let device = devices.first(where: { $0.id == call.record.legs.first?.device.id }) else {
            return
        }
        log("\(device.id.text) floods \(call.name)")
        let bulk = String(repeating: "x", count: userDraws.percent(50) ? 2_000 : 10)
        for number in 0..<560 {
            let say = Intent.send(call.name, .info, fields: "\"data\":\"\(bulk)\(number)\"")
            after(Int64(number) * 25, .intent(device: device.index, instance: device.instance, say))
        }
    }

    private func sendGarbage(_ device: SimulatedDevice) {
        guard let link = device.link, !device.isConnecting else { return }
        let texts = [
            "{", "[]", "{\"type\":\"fly\"}", "{\"type\":\"ice\"}", "{\"type\":\"offer\",\"sdp\":\"x\"}", "\"\"",
            "{\"type\":\"end\",\"callId\":\"\(String(repeating: "x", count: 200))\"}",
            "{\"type\":\"sync\",\"calls\":{\"call\":0,\"zzz\":3}}",
        ]
        writes(Array((userDraws.pick(texts) ?? "").utf8), on: link)
    }

    /// Makes an outsider ask about a call of other users, and about a call that does not exist.
    private func probe(_ name: CallName) {
        guard let outsider = devices.last, outsider.user.text == "99", !outsidersNames.contains(name.id),
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
            requests(.probe(asked, id), from: outsider)
        }
    }
}
