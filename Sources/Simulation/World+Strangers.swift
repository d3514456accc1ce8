import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// Injects offers under the callId of a call of other users, and acknowledged ends that arrive again. Both happen
/// mostly while a later call uses the callId.
extension World {
    /// Plans offers under the callIds of others' calls and repeated ends, in addition to the planned calls.
    ///
    /// They are drawn from a separate stream, so that worlds without this fault stay unchanged.
    func planStrangers(at: Int64, _ chance: inout SeededGenerator) {
        if chance.percent(40) { after(at + chance.within(50...15_000), .script(plan(.stranger))) }
        if chance.percent(40) { after(at + chance.within(500...25_000), .script(plan(.oldEnd))) }
    }

    /// Makes a user call one of two users who have a call with each other, under the callId of that call.
    func stranger() {
        let known = watch.recent.suffix(6).compactMap { watch.calls[$0] }.filter { $0.record.hidden == nil }
        guard let call = strangers.pick(known),
            let handset = strangers.pick(handsets.filter { !call.name.pair.holds($0.user) && !$0.isPoller })
        else { return }
        let victim = strangers.percent(70) ? call.record.callee : call.record.caller
        if handset.user.text == "99" || victim.text == "99" { outsidersNames.insert(call.name.id) }
        log("\(handset.device.text), a stranger, offers to \(victim.text) under the name of \(call.name)")
        let ring = ",\"ringTimeout\":\(strangers.within(5...10))"
        foreign(
            handset,
            .offer,
            CallName(id: call.name.id, pair: Pair(handset.user, victim), epoch: 0),
            fields: fields(of: .offer) + ring
        )
    }

    /// Sends an acknowledged end again, as if it had crossed its ack.
    func oldEnd() {
        // Ends with a callId that is in use again are preferred, because only they can do harm.
        let again = oldEnds.filter { old in
            watch.newest[old.name.key].flatMap { watch.calls[$0] }.map { $0.isLive } ?? false
        }
        guard let old = strangers.pick(again.isEmpty ? oldEnds : again) else { return }
        let handset = handsets[old.handset]
        let peer = old.name.pair.other(than: handset.user)
        log("\(handset.device.text) sends its end \(old.id) of \(old.name) again")
        let to = strangers.percent(50) ? ",\"to\":\"\(peer.text)\"" : ""
        watch.meant["\(handset.device.text) \(old.id)"] = peer
        if let link = handset.link, !handset.isConnecting, strangers.percent(50) {
            let text = "{\"type\":\"end\",\"id\":\"\(old.id)\",\"callId\":\"\(old.name.id.text)\"\(to)}"
            writes(Array(text.utf8), on: link)
        } else {
            let text =
                "{\"action\":\"end\",\"id\":\"\(old.id)\",\"deviceId\":\"\(handset.device.text)\"\(to),\"data\":{}}"
            requests(.signal(id: "old", Array(text.utf8), old.name.id), from: handset)
        }
    }

    /// An acknowledged end of a device.
    struct OldEnd {
        let handset: Int
        let name: CallName
        let id: String
    }

    func acknowledgedEnd(_ name: CallName, _ id: String, by handset: Handset) {
        guard faults.contains(.strangers) else { return }
        watch.acknowledgedEnd(id, by: handset)
        oldEnds.append(OldEnd(handset: handset.index, name: name, id: id))
        if oldEnds.count > 8 { oldEnds.removeFirst() }
    }

    /// Returns whether a device leaves out `to`, as an older app does in the first try of a signal.
    ///
    /// Only a callee does. A user that calls another user under the same callId, from any device, must name the peer.
    func leavesOutPeer(_ signal: Outgoing, of handset: Handset) -> Bool {
        guard faults.contains(.strangers), !handset.isRealApp, signal.tries <= 1, signal.kind != .offer,
            signal.kind != .end, UUIDv5.isUUID(signal.callID.text),
            let call = handset.core?.calls.last(where: {
                $0.name.id == signal.callID && $0.name.pair == Pair(handset.user, signal.peer)
            }),
            !call.isCaller,
            !watch.calls.values.contains(where: {
                $0.record.id == signal.callID && $0.record.caller == handset.user
            })
        else { return false }
        return strangers.percent(50)
    }
}

extension Watch {
    /// Checks that a new call is not shown to a callee that is in a call of the same callId with another user.
    mutating func checkName(_ record: CallRecord) {
        guard record.hidden == nil, record.endedAt == nil else { return }
        let own = ["\(record.caller.text)-\(record.callee.text)", "\(record.callee.text)-\(record.caller.text)"]
        guard !own.contains(record.id.text) else { return }
        for number in live {
            guard let other = calls[number], other.record.id == record.id, other.record.number != record.number,
                other.name.pair.holds(record.callee), !other.name.pair.holds(record.caller),
                other.record.hidden == nil || other.record.caller == record.callee
            else { continue }
            fail("I10", "\(record.caller.text) may ring \(record.callee.text) under the name of \(other.name)")
        }
    }

    /// Records an acknowledged end: it refers to the call that it ended, and never to another one.
    mutating func acknowledgedEnd(_ id: String, by handset: Handset) {
        settledEnds.insert("\(handset.device.text) \(id)")
    }

    mutating func checkEnd(_ name: String, of call: CallName) {
        if settledEnds.contains(name), let ended = ends[name], ended != call {
            fail("I7", "\(name), which had ended \(ended), came again and ended \(call)")
        }
        ends[name] = call
    }
}
