import CallCore
import CallPorts
import CallWire
import Switchboard

/// Injects malicious and broken clients.
extension World {
    func harm(_ kind: Int) {
        let names = watch.recent
        guard let number = users.pick(names), let call = watch.calls[number], let handset = users.pick(handsets) else {
            return
        }
        switch kind {
        case 0, 1: probe(call.name)
        case 2: wrongEpoch(call, handset)
        case 3: garbage(handset)
        case 4 where users.percent(1): flood(call)
        case 5 where users.percent(30): hangUpByRequest(call)
        default: wild(call)
        }
    }

    /// Ends a call by a request of the calling device, without its core, as an extension of its app may do.
    private func hangUpByRequest(_ call: Watch.Mirror) {
        guard call.isLive, let caller = handsets.first(where: { $0.device == call.record.legs.first?.phone.id }),
            caller.isRealApp
        else { return }
        foreignCount += 1
        requests(.end(id: "f\(foreignCount)", call.name.id), from: caller)
    }

    /// Makes any device send any signal in any state.
    private func wild(_ call: Watch.Mirror) {
        let near = handsets.filter { $0.user == call.record.caller || $0.user == call.record.callee }
        guard let handset = users.pick(near), let kind = users.pick(SignalKind.allCases) else { return }
        var name = call.name
        if !handset.isRealApp, changesUnseen(kind, name, for: handset) { return }
        // Sometimes the signal names a call that never existed.
        if kind != .offer, users.percent(5), let id = CallID("none\(foreignCount)") { name.id = id }
        foreign(handset, kind, name, fields: fields(of: kind))
    }

    /// Returns whether a signal in a model device's name, sent without its core, would leave the device with a wrong
    /// view of its call.
    ///
    /// Only real apps fetch. So only they notice when such a signal has ended their call. And only they end a call that
    /// has ended for them and was then answered in their name.
    private func changesUnseen(_ kind: SignalKind, _ name: CallName, for handset: Handset) -> Bool {
        guard let calls = handset.core?.calls else { return false }
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
        case .ice: candidate()
        case .update: "\"hold\":true"
        case .dtmf: "\"digits\":\"5\""
        case .info: "\"data\":1"
        case .ringing, .connected, .end: ""
        }
    }

    /// Sends a signal from a device without the knowledge of its core.
    func foreign(
        _ handset: Handset,
        _ kind: SignalKind,
        _ name: CallName,
        fields: String,
        epoch: UInt32? = nil,
        prefix: String = "f"
    ) {
        foreignCount += 1
        let peer = name.pair.other(than: handset.user)
        let more = fields.isEmpty ? "" : "," + fields
        let said = epoch.map { ",\"epoch\":\($0)" } ?? ""
        if kind == .end, users.percent(55) {
            requests(.end(id: "f\(foreignCount)", name.id), from: handset)
        } else if let link = handset.link, !handset.isConnecting, users.percent(70) {
            let text =
                "{\"type\":\"\(kind.rawValue)\",\"id\":\"\(prefix)\(foreignCount)\",\"callId\":\"\(name.id.text)\",\"to\":\"\(peer.text)\"\(said)\(more)}"
            writes(Array(text.utf8), on: link)
        } else {
            let text =
                "{\"action\":\"\(kind.rawValue)\",\"id\":\"\(prefix)\(foreignCount)\",\"deviceId\":\"\(handset.device.text)\",\"to\":\"\(peer.text)\"\(said),\"data\":{\(fields)}}"
            requests(.signal(id: "f\(foreignCount)", Array(text.utf8), name.id), from: handset)
        }
    }

    private func wrongEpoch(_ call: Watch.Mirror, _ handset: Handset) {
        guard handset.user == call.record.caller || handset.user == call.record.callee else { return }
        foreign(handset, .info, call.name, fields: "\"data\":0", epoch: call.record.epoch + 70_000, prefix: "w")
    }

    /// Makes the calling device send a flood of signals; the log must not grow beyond its limits.
    private func flood(_ call: Watch.Mirror) {
        guard call.isLive, let handset = handsets.first(where: { $0.device == call.record.legs.first?.phone.id }) else {
            return
        }
        log("\(handset.device.text) floods \(call.name)")
        let bulk = String(repeating: "x", count: users.percent(50) ? 2_000 : 10)
        for number in 0..<560 {
            let say = Intent.say(call.name, .info, fields: "\"data\":\"\(bulk)\(number)\"")
            after(Int64(number) * 25, .intent(handset: handset.index, instance: handset.instance, say))
        }
    }

    private func garbage(_ handset: Handset) {
        guard let link = handset.link, !handset.isConnecting else { return }
        let texts = [
            "{", "[]", "{\"type\":\"fly\"}", "{\"type\":\"ice\"}", "{\"type\":\"offer\",\"sdp\":\"x\"}", "\"\"",
            "{\"type\":\"end\",\"callId\":\"\(String(repeating: "x", count: 200))\"}",
            "{\"type\":\"sync\",\"calls\":{\"call\":0,\"zzz\":3}}",
        ]
        writes(Array((users.pick(texts) ?? "").utf8), on: link)
    }

    /// Makes an outsider ask about a call of other users, and about a call that does not exist.
    private func probe(_ name: CallName) {
        guard let outsider = handsets.last, outsider.user.text == "99", !outsidersNames.contains(name.id),
            let unknown = CallID("nobody\(foreignCount)")
        else { return }
        foreignCount += 1
        for id in [name.id, unknown] {
            let asked: Switchboard.Request
            switch foreignCount % 3 {
            case 0: asked = .fetch(id, .init(device: outsider.device))
            case 1: asked = .end(id, device: outsider.device)
            default:
                let body = Array("{\"action\":\"info\",\"data\":{\"data\":1}}".utf8)
                // The body is well-formed: the request is refused because of its sender.
                guard let message = try? SignalMessage(body: body, callIDInPath: id, ringFor: .seconds(45)) else {
                    return
                }
                asked = .signal(message)
            }
            requests(.probe(asked, id), from: outsider)
        }
    }
}
