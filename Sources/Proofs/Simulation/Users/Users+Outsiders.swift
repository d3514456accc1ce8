import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// Offers under the callId of a call of other users, and acknowledged ends that arrive again.
extension Users {
    /// Makes a user call one of two users who have a call with each other, under the callId of that call.
    func offerAsOutsider() {
        let known = checker.recent.suffix(6).compactMap { checker.calls[$0] }.filter { $0.record.hidden == nil }
        guard let call = draws.outsiders.pick(known),
            let device = draws.outsiders.pick(
                network.devices.filter { !call.name.pair.contains($0.user) && !$0.isPoller }
            )
        else { return }
        let victim = draws.outsiders.percent(70) ? call.record.callee : call.record.caller
        if device.user.text == "99" || victim.text == "99" { requests.outsidersNames.insert(call.name.id) }
        log("\(device.id.text), an outsider, offers to \(victim.text) under the name of \(call.name)")
        let ring = ",\"ringTimeout\":\(draws.outsiders.within(5...10))"
        sendWithoutCore(
            device,
            .offer,
            CallName(id: call.name.id, pair: Pair(device.user, victim), epoch: 0),
            fields: fields(of: .offer) + ring
        )
    }

    /// Sends an acknowledged end again, as a client does if the resend leaves before the ack arrives.
    func repeatOldEnd() {
        // Ends with a callId that is in use again are preferred, because only they can do harm.
        let again = oldEnds.filter { old in
            checker.newest[old.name.key].flatMap { checker.calls[$0] }.map { $0.isLive } ?? false
        }
        guard let old = draws.outsiders.pick(again.isEmpty ? oldEnds : again) else { return }
        let device = network.devices[old.device]
        let peer = old.name.pair.other(than: device.user)
        log("\(device.id.text) sends its end \(old.id) of \(old.name) again")
        let to = draws.outsiders.percent(50) ? ",\"to\":\"\(peer.text)\"" : ""
        checker.intendedPeer["\(device.id.text) \(old.id)"] = peer
        if let link = device.link, !device.isConnecting, draws.outsiders.percent(50) {
            let text = "{\"type\":\"end\",\"id\":\"\(old.id)\",\"callId\":\"\(old.name.id.text)\"\(to)}"
            network.writes(Array(text.utf8), on: link)
        } else {
            let text =
                "{\"action\":\"end\",\"id\":\"\(old.id)\",\"deviceId\":\"\(device.id.text)\"\(to),\"data\":{}}"
            requests.issue(.signal(id: "old", Array(text.utf8), old.name.id), from: device)
        }
    }

    /// An acknowledged end of a device.
    struct OldEnd {
        let device: Int
        let name: CallName
        let id: String
    }

    func acknowledgedEnd(_ name: CallName, _ id: String, by device: SimulatedDevice) {
        guard faults.contains(.outsiders) else { return }
        checker.acknowledgedEnd(id, by: device)
        oldEnds.append(OldEnd(device: device.index, name: name, id: id))
        if oldEnds.count > 8 { oldEnds.removeFirst() }
    }

    /// Returns whether a device leaves out `to`, as an older app does in the first try of a signal.
    ///
    /// Only a callee does. A user that calls another user under the same callId, from any device, must name the peer.
    func leavesOutPeer(_ signal: Outgoing, of device: SimulatedDevice) -> Bool {
        guard faults.contains(.outsiders), !device.isRealApp, signal.tries <= 1, signal.kind != .offer,
            signal.kind != .end, UUIDv5.isUUID(signal.callID.text),
            let call = device.core?.calls.last(where: {
                $0.name.id == signal.callID && $0.name.pair == Pair(device.user, signal.peer)
            }),
            !call.isCaller,
            !checker.calls.values.contains(where: {
                $0.record.id == signal.callID && $0.record.caller == device.user
            })
        else { return false }
        return draws.outsiders.percent(50)
    }
}
