import CallCore
import CallPorts

/// Checks of calls under a callId that other users have, and of ends that arrive again.
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
