import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// Injects offers under the callId of a call of other users, and acknowledged ends that arrive again.
extension SimulatedWorld {
    /// Plans offers under the callIds of others' calls and repeated ends, in addition to the planned calls.
    ///
    /// Their random numbers come from a separate stream, so that worlds without this fault stay unchanged.
    func planOutsiders(at: Int64, _ generator: inout SeededGenerator) {
        if generator.percent(40) { after(at + generator.within(50...15_000), .script(plan(.outsiderCall))) }
        if generator.percent(40) { after(at + generator.within(500...25_000), .script(plan(.oldEnd))) }
    }

    /// Makes a user call one of two users who have a call with each other, under the callId of that call.
    func offerAsOutsider() {
        let known = checker.recent.suffix(6).compactMap { checker.calls[$0] }.filter { $0.record.hidden == nil }
        guard let call = outsiderDraws.pick(known),
            let device = outsiderDraws.pick(devices.filter { !call.name.pair.contains($0.user) && !$0.isPoller })
        else { return }
        let victim = outsiderDraws.percent(70) ? call.record.callee : call.record.caller
        if device.user.text == "99" || victim.text == "99" { outsidersNames.insert(call.name.id) }
        log("\(device.id.text), an outsider, offers to \(victim.text) under the name of \(call.name)")
        let ring = ",\"ringTimeout\":\(outsiderDraws.within(5...10))"
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
        guard let old = outsiderDraws.pick(again.isEmpty ? oldEnds : again) else { return }
        let device = devices[old.device]
        let peer = old.name.pair.other(than: device.user)
        log("\(device.id.text) sends its end \(old.id) of \(old.name) again")
        let to = outsiderDraws.percent(50) ? ",\"to\":\"\(peer.text)\"" : ""
        checker.intendedPeer["\(device.id.text) \(old.id)"] = peer
        if let link = device.link, !device.isConnecting, outsiderDraws.percent(50) {
            let text = "{\"type\":\"end\",\"id\":\"\(old.id)\",\"callId\":\"\(old.name.id.text)\"\(to)}"
            writes(Array(text.utf8), on: link)
        } else {
            let text =
                "{\"action\":\"end\",\"id\":\"\(old.id)\",\"deviceId\":\"\(device.id.text)\"\(to),\"data\":{}}"
            requests(.signal(id: "old", Array(text.utf8), old.name.id), from: device)
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
        return outsiderDraws.percent(50)
    }
}

extension InvariantChecker {
    /// Checks that a new call is not shown to a callee that is in a call of the same callId with another user.
    mutating func checkTakenCallID(_ record: CallRecord) {
        guard record.hidden == nil, record.endedAt == nil else { return }
        let own = ["\(record.caller.text)-\(record.callee.text)", "\(record.callee.text)-\(record.caller.text)"]
        guard !own.contains(record.id.text) else { return }
        for number in live {
            guard let other = calls[number], other.record.id == record.id, other.record.number != record.number,
                other.name.pair.contains(record.callee), !other.name.pair.contains(record.caller),
                other.record.hidden == nil || other.record.caller == record.callee
            else { continue }
            fail("I10", "\(record.caller.text) may ring \(record.callee.text) under the callId of \(other.name)")
        }
    }

    /// Records an acknowledged end: from now on, this end refers to the call that it ended and to no other.
    mutating func acknowledgedEnd(_ id: String, by device: SimulatedDevice) {
        settledEnds.insert("\(device.id.text) \(id)")
    }

    mutating func checkEnd(_ name: String, of call: CallName) {
        if settledEnds.contains(name), let ended = ends[name], ended != call {
            fail("I7", "the end \(name) of \(ended) was resent and ended \(call)")
        }
        ends[name] = call
    }
}
