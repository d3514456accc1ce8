import CallCore
import CallPorts

/// Checks what a server that starts again has kept.
extension InvariantChecker {
    /// Checks what the store has when the server starts: everything that was acknowledged must be in it.
    mutating func restarted(
        with stored: [StoredCall],
        _ registered: [DeviceRecord],
        at now: Int64,
        saying moment: Moment
    ) {
        serverSince = now
        serverStart = moment
        lifetimes += 1
        let before = calls
        calls = [:]
        newest = [:]
        live = []
        recent = []
        devices = [:]
        answeringDevices = [:]
        for device in registered { devices[device.user, default: []].append(device) }
        var kept: Set<CallName> = []
        for call in stored {
            checkNumbers(of: call)
            let committed = committed(call, at: now, saying: moment)
            calls[call.record.number] = committed
            newest[committed.name.key] = call.record.number
            recent.append(call.record.number)
            if committed.isLive { live.append(call.record.number) }
            kept.insert(committed.name)
            coverage.visit(committed.state, "restarted", .server)
            if let answeringDevice = committed.answeringDevice {
                answeringDevices[call.record.number] = answeringDevice
            }
            for one in acknowledgements[committed.name] ?? [] where one.seq > 0 {
                guard !call.entries.contains(where: { $0.seq == one.seq }) else { continue }
                fail(
                    "I4",
                    "\(one.kind.rawValue) \(one.id) of \(committed.name) was acknowledged as \(one.seq) and is lost"
                )
            }
        }
        if recent.count > 16 { recent.removeFirst(recent.count - 16) }
        for call in before.values where !kept.contains(call.name) { lostCallees[call.name] = call.record.callee }
        // A call that begins again under the name of a lost one is another call.
        silenced = silenced.filter { kept.contains($0.name) }
        for name in acknowledgements.keys.sorted() where !kept.contains(name) && !forgotten.contains(name) {
            fail("I4", "\(name) was acknowledged and is lost")
        }
    }

    /// Returns what the checker expects of a call from now on, by what the store has of it.
    private func committed(_ call: StoredCall, at now: Int64, saying moment: Moment) -> CommittedCall {
        // The server replaces a moment in the future, from before its clock was set back, by the present.
        var record = call.record
        record.session.answeredAt = record.answeredAt.map { min($0, moment) }
        if let endedAt = record.endedAt { record.session.ending?.at = min(endedAt, moment) }
        let committed = CommittedCall(record: record, lastSeq: call.entries.last?.seq ?? 0, changedAt: now)
        committed.wasEnded = !committed.isLive
        committed.wasAnswered = committed.record.answeredAt != nil && committed.isLive
        for entry in call.entries {
            guard case .signal(let kind, _, let sender, let id, _) = entry.entry.content else { continue }
            if kind != .end { committed.signals += 1 }
            guard let id else { continue }
            committed.accepted.insert("\(sender.id.text) \(id.text)")
            committed.held[entry.seq] = DeviceSignal(kind: kind, device: sender.id, id: id.text)
        }
        committed.bytes = call.entries.reduce(0) { $0 + $1.object.count }
        committed.targets = (devices[call.record.callee] ?? []).compactMap { device in
            device.ringingToken.map { (device.id, $0) }
        }
        return committed
    }

    mutating func crashed() {
        offers = [:]
        pushes = [:]
        acks = AckOrder()
        cancelledPushes = []
        accepted = [:]
        changed = []
    }
}
