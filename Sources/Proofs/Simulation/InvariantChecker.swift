import CallCore
import CallPorts
import CallWire
import Switchboard

/// Observes a world from outside: what the server stores, sends and pushes, and what the simulated devices receive.
///
/// Its model of the calls comes only from the changes given to the store: no check shares code with the checked code.
struct InvariantChecker {
    /// A call as the server has given it to the store.
    final class CommittedCall {
        var record: CallRecord
        let name: CallName
        var lastSeq: UInt64
        var signals = 0
        var bytes = 0
        /// The number of signals that the log got before an answer, without the first offer, `ringing` and `end`.
        var early = 0
        var hasAnswer = false
        /// Whether it had ended before the current batch.
        var wasEnded = false
        /// Whether it had been answered before the current batch.
        var wasAnswered = false
        /// The ids of the accepted signals, each with its device.
        var accepted: Set<String> = []
        /// The signal that the log holds under each `seq`.
        ///
        /// A device may send the same signal again under another id.
        var held: [UInt64: DeviceSignal] = [:]
        var changedAt: Int64
        /// When the server began it, or read it from the store.
        ///
        /// A call that a crash has lost may be followed by one with the same name and the same number.
        let begunAt: Int64
        /// The callee's devices that could be pushed when the call began.
        var targets: [(device: DeviceID, token: String)] = []

        init(record: CallRecord, lastSeq: UInt64 = 0, changedAt: Int64) {
            self.record = record
            self.lastSeq = lastSeq
            self.changedAt = changedAt
            begunAt = changedAt
            // The name of a call never changes.
            name = CallName(id: record.id, pair: Pair(record.caller, record.callee), epoch: record.epoch)
        }

        var isLive: Bool { record.endedAt == nil }
        var isRinging: Bool { isLive && record.answeredAt == nil }
        var answeringDevice: DeviceID? { record.legs.first { $0.side == .callee && $0.phase == .answered }?.device.id }
        var state: Coverage.State {
            !isLive ? .ended : record.activeAt != nil ? .active : record.answeredAt != nil ? .answered : .ringing
        }
    }

    /// A call and one device of its callee, as the target of a push.
    struct PushTarget: Hashable {
        let name: CallName
        let device: DeviceID
    }

    private(set) var violation: (invariant: String, message: String)?
    private(set) var begun = 0
    /// The decisions of the app's backend; `nil` = it decides nothing.
    var decisions: DecisionWatch?
    var coverage = Coverage()

    var calls: [CallNumber: CommittedCall] = [:]
    var newest: [CallKey: CallNumber] = [:]
    /// The live calls, oldest first.
    var live: [CallNumber] = []
    /// The last 16 calls, including ended ones.
    var recent: [CallNumber] = []
    var devices: [UserID: [DeviceRecord]] = [:]
    var serverSince: Int64 = 0
    /// The time on the server's clock at `serverSince`, when the server last started or went on.
    var serverStart = Moment(milliseconds: 0)
    var lifetimes = 0
    var changed: [CallNumber] = []

    var acknowledgements: [CallName: [Acknowledged]] = [:]
    var acks = AckOrder()
    var durability = Durability()
    var forgotten: Set<CallName> = []
    /// The callees of calls that a crash lost.
    ///
    /// A push for such a call may still arrive after the callee has used the callId for a call of their own.
    var lostCallees: [CallName: UserID] = [:]
    /// The fingerprint of the entry that was shown under each `seq`, kept over crashes.
    var shownFingerprints: [CallName: [UInt64: UInt64]] = [:]

    /// The last `seq` before the caller changed to another device; the entries up to it were for the earlier device.
    var callerSince: [CallName: UInt64] = [:]

    // The state of rings and pushes.
    var offers: [Int: [CallName]] = [:]
    var confirmed: Set<PushTarget> = []
    var attempted: Set<PushTarget> = []
    var accepted: [PushTarget: Int] = [:]
    var pushes: [PushID: (name: CallName, device: PushTarget)] = [:]
    var cancelledPushes: Set<PushID> = []
    /// The `apns-id` of each push, over all servers.
    var apnsIDs: [PushTarget: String] = [:]
    /// The peer for which a signal was meant, by the signal's device and id.
    var intendedPeer: [String: UserID] = [:]
    /// The call for which a signal without a peer was meant, by the signal's device and id.
    ///
    /// The signal belongs to that call while the call is live.
    var intendedCall: [String: CallKey] = [:]
    var unknownBody: [String: [UInt8]] = [:]
    /// The calls that the system of a device does not show.
    var silenced: Set<PushTarget> = []
    /// When the row of each device was last removed.
    var removedAt: [DeviceID: Int64] = [:]
    /// When each user last set do-not-disturb.
    var silencedAt: [UserID: Int64] = [:]
    /// The call that each end has ended, by device and id; `settledEnds` has the ends that were acknowledged.
    var ends: [String: CallName] = [:]
    var settledEnds: Set<String> = []
    /// The callee's device in each answered call; at each start of the server, they are set from the stored calls.
    var answeringDevices: [CallNumber: DeviceID] = [:]

    mutating func fail(_ invariant: String, _ message: String) {
        if violation == nil { violation = (invariant, message) }
    }

    // MARK: Commits of the server

    mutating func apply(_ change: Change, at now: Int64) -> Transition {
        var transition = Transition()
        switch change {
        // An offer that was refused is no call.
        case .call(let record) where record.hidden == .refusedOffer: break
        case .call(let record): transition = apply(record, at: now)
        case .entry(let number, let entry): apply(entry, number)
        case .logForgotten(let number):
            if let call = calls[number] {
                if call.isLive { fail("I9", "\(call.name) was deleted while it was live") }
                forgotten.insert(call.name)
            }
            calls[number] = nil
            recent.removeAll { $0 == number }
        case .device(let device):
            var own = devices[device.user] ?? []
            own.removeAll { $0.id == device.id }
            own.append(device)
            devices[device.user] = own
        case .deviceRemoved(let user, let id):
            devices[user]?.removeAll { $0.id == id }
            removedAt[id] = now
        case .doNotDisturb(let user, let until): if until != nil { silencedAt[user] = now }
        case .event, .historyForgotten, .blocked, .unblocked, .schedule, .scheduleRemoved, .revoked,
            .uncleanStartsForgotten, .numbers, .removalsForgotten, .appEvent, .eventEndpoint, .eventEndpointRemoved,
            .eventHeld, .eventReleased, .eventsForgotten:
            break
        }
        return transition
    }

    private mutating func apply(_ record: CallRecord, at now: Int64) -> Transition {
        var transition = Transition()
        let key = CallKey(id: record.id, pair: Pair(record.caller, record.callee))
        guard let committed = calls[record.number] else {
            begun += 1
            let committed = CommittedCall(record: record, changedAt: now)
            committed.targets = (devices[record.callee] ?? []).compactMap { device in
                device.ringingToken.map { (device.id, $0) }
            }
            if let older = newest[key].flatMap({ calls[$0] }), older.record.epoch >= record.epoch {
                fail("I4", "\(record.id.text) begins in epoch \(record.epoch) after epoch \(older.record.epoch)")
            }
            checkTakenCallID(record)
            calls[record.number] = committed
            newest[key] = record.number
            recent.append(record.number)
            if recent.count > 16 { recent.removeFirst() }
            if record.endedAt == nil {
                live.append(record.number)
            } else {
                ends(record, from: .none)
                transition.ended = record.reason
            }
            changed.append(record.number)
            check(record)
            if record.hidden == nil, record.endedAt == nil { transition.begun = (key, record.epoch, record.number) }
            return transition
        }
        let old = committed.record
        if old.endedAt != nil {
            let isSame =
                isSame(record.endedAt, old.endedAt) && record.reason == old.reason
                && isSame(record.answeredAt, old.answeredAt) && record.activeAt == old.activeAt
            if !isSame { fail("I9", "\(committed.name) changed after its end") }
        } else if record.endedAt != nil {
            transition.ended = record.reason
            ends(record, from: committed.state)
            live.removeAll { $0 == record.number }
        }
        if old.answeredAt != nil, !isSame(record.answeredAt, old.answeredAt) {
            fail("I1", "\(committed.name) was answered twice")
        }
        if old.legs.first?.device.id != record.legs.first?.device.id {
            callerSince[committed.name] = committed.lastSeq
        }
        committed.record = record
        committed.changedAt = now
        changed.append(record.number)
        check(record)
        return transition
    }

    private mutating func ends(_ record: CallRecord, from state: Coverage.State) {
        if let reason = record.reason { coverage.visit(state, "ends \(reason.rawValue)", .server) }
    }

    /// Checks what must hold for every call at every step.
    private mutating func check(_ record: CallRecord) {
        let name = "\(record.id.text)/\(record.epoch)"
        var answeringDevice: DeviceID?
        for leg in record.legs where leg.phase == .answered {
            if leg.side == .caller { continue }
            if answeringDevice != nil { fail("I1", "two devices of the callee are in \(name)") }
            answeringDevice = leg.device.id
        }
        if let answeringDevice {
            if let before = answeringDevices[record.number], before != answeringDevice, record.answeredAt != nil {
                fail("I1", "the answering device of \(name) changed from \(before.text) to \(answeringDevice.text)")
            }
            answeringDevices[record.number] = answeringDevice
        }
        if record.legs.filter({ $0.side == .caller && $0.phase == .answered }).count > 1 {
            fail("I1", "two devices of the caller are in \(name)")
        }
        if record.endedAt != nil,
            let leg = record.legs.first(where: { $0.phase != .left && $0.phase != .endNotDelivered })
        {
            fail("I2", "\(name) has ended, but the leg of \(leg.device.id.text) is \(leg.phase)")
        }
        if record.answeredAt != nil, record.endedAt == nil {
            let alerting: [Leg.Phase] = [.notified, .ringing, .silenced]
            for leg in record.legs where leg.side == .callee && alerting.contains(leg.phase) {
                fail("I2", "\(name) was answered, but the leg of \(leg.device.id.text) is \(leg.phase)")
            }
            if answeringDevice == nil { fail("I1", "\(name) was answered, but no device has it") }
        }
        if record.legs.count > Limits.legs { fail("I11", "\(name) has \(record.legs.count) legs") }
        if record.answeredAt == nil, record.activeAt != nil { fail("I9", "\(name) is active, but was not answered") }
    }

    private mutating func apply(_ entry: EntryRecord, _ number: CallNumber) {
        guard let committed = calls[number] else {
            fail("I4", "an entry was appended to a call that is not stored")
            return
        }
        let content = entry.entry.content
        let word = if case .signal(let kind, _, _, _, _) = content { kind.rawValue } else { "call" }
        if committed.wasEnded { fail("I9", "\(committed.name) got \(word) \(entry.seq) after its end") }
        if entry.seq <= committed.lastSeq {
            fail("I4", "the seq of \(committed.name) goes from \(committed.lastSeq) to \(entry.seq)")
        }
        committed.lastSeq = entry.seq
        if case .signal(let kind, _, let sender, let signalID?, _) = content {
            let id = signalID.text
            let name = "\(sender.id.text) \(id)"
            committed.held[entry.seq] = DeviceSignal(kind: kind, device: sender.id, id: id)
            if kind == .end { checkEnd(name, of: committed.name) }
            if kind == .end { checkSilenced(id, of: sender.id, in: committed) }
            if !committed.accepted.insert(name).inserted {
                fail("I7", "\(committed.name) holds \(id) of \(sender.id.text) twice")
            }
            // A signal must be in a call with its peer, unless its device makes the call: a signal that the device sent
            // earlier, without a peer, then belongs to that call (protocol, section 9.2).
            let isOwn = committed.record.legs.first?.device.id == sender.id
            let key = intendedCall[name]
            if key == nil, let peer = intendedPeer[name], !committed.name.pair.contains(peer), !isOwn {
                fail("I10", "\(committed.name) holds \(id) of \(sender.id.text), which was for \(peer.text)")
            }
            // A signal that names no peer belongs first of all to the call that its device made or answered.
            let isPreferred = isOwn || answeringDevices[number] == sender.id
            if let key, key != committed.name.key, !isPreferred, newest[key].map(live.contains) ?? false {
                fail("I10", "\(committed.name) holds \(id) of \(sender.id.text), for another call of that callId")
            }
            if id.hasPrefix("w") { fail("I9", "\(committed.name) accepted \(word) that was sent in another epoch") }
            let isIn = sender.id == answeringDevices[number] || committed.record.legs.first?.device.id == sender.id
            if committed.wasAnswered, !isIn {
                fail("I1", "\(committed.name) accepted a signal of \(sender.id.text), which is not in the call")
            }
        }
        if case .signal(let kind, _, _, _, _) = content {
            if kind != .end {
                if kind == .answer { committed.hasAnswer = true }
                if !committed.hasAnswer, committed.record.answeredAt == nil, kind != .ringing, committed.signals > 0 {
                    committed.early += 1
                }
                committed.signals += 1
                committed.bytes += entry.object.count
            }
            if committed.early > Limits.earlySignals {
                fail("I11", "\(committed.name) accepted \(committed.early) signals before an answer")
            }
            if committed.signals > Limits.logSignals + 1 {
                fail("I11", "\(committed.name) holds \(committed.signals) signals")
            }
            // The server's limit does not count the members that the server itself writes.
            if committed.bytes > Limits.logBytes + committed.signals * 512 {
                fail("I11", "\(committed.name) holds \(committed.bytes) bytes")
            }
        }
    }

    /// Returns whether a moment of a record is unchanged.
    ///
    /// If the clock was set back, the server's next start replaces a stored moment in the future by the present.
    private func isSame(_ moment: Moment?, _ before: Moment?) -> Bool {
        moment == before || moment != nil && before == serverStart
    }

    /// Checks what must hold between calls, once a batch is complete.
    mutating func flushed() {
        guard !changed.isEmpty else { return }
        for number in changed {
            guard let committed = calls[number] else { continue }
            let hadEnded = committed.wasEnded
            committed.wasEnded = !committed.isLive
            committed.wasAnswered = committed.record.answeredAt != nil
            if committed.isRinging, committed.record.hidden == nil { checkGlare(committed) }
            if committed.record.reason == .glare, let winner = committed.record.replacedBy, !hadEnded {
                if !(winner < committed.record.id) {
                    fail("I8", "\(committed.name) lost the glare against \(winner.text), whose callId is greater")
                }
            }
        }
        changed.removeAll(keepingCapacity: true)
    }

    private mutating func checkGlare(_ committed: CommittedCall) {
        for number in live {
            guard let other = calls[number], other.isRinging, other.record.hidden == nil,
                other.record.caller == committed.record.callee, other.record.callee == committed.record.caller
            else { continue }
            fail("I8", "\(committed.name) and \(other.name) ring at the same time (glare)")
        }
    }
}
