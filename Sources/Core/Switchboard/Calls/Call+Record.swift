import CallCore
import CallPorts
import CallWire

/// Conversion of a call to its stored record, and back.
extension Call {
    var record: CallRecord {
        var record = CallRecord(session: snapshot, room: room, displayName: displayName, hidden: hidden)
        record.scheduled = scheduled
        record.isWaiting = isWaiting
        record.wasSilencedByDoNotDisturb = wasSilencedByDoNotDisturb
        if !pushes.isEmpty { record.pushes = pushes.compactMapValues(\.outcome) }
        record.ends = acceptedSignals.ends
        record.descriptions = acceptedSignals.descriptions
        record.events = events
        return record
    }

    /// Restores a stored call at `now`; `nil` when the record is inconsistent.
    ///
    /// The stored moments from which deadlines are computed are capped relative to `now`. Without the cap, a call whose
    /// stored answer or end lies far in the future would stay in memory until then, and after a start with a clock that is
    /// behind a call would ring for longer than a whole ring.
    convenience init?(
        _ stored: StoredCall,
        grace: Moment.Duration,
        longestRing: Moment.Duration,
        uncleanStarts: Int,
        at now: Moment
    ) {
        let record = stored.record
        var kept = record.session
        let ring = kept.startedAt < kept.ringUntil ? min(kept.ringUntil - kept.startedAt, longestRing) : longestRing
        kept.ringUntil = min(kept.ringUntil, now + ring)
        // The length of the ring must stay the same for a further restart.
        kept.startedAt = min(kept.startedAt, now)
        kept.answeredAt = kept.answeredAt.map { min($0, now) }
        if let ending = kept.ending { kept.ending?.at = min(ending.at, now) }
        let entries = stored.entries.map { (entry: $0.entry, byteCount: $0.object.count) }
        guard
            let session = CallSession(
                restoring: kept,
                log: entries,
                grace: grace,
                uncleanStarts: uncleanStarts,
                at: now
            )
        else { return nil }
        self.init(
            session: session,
            room: record.room,
            displayName: record.displayName?.shown(upTo: WireLimits.displayNameCharacters),
            hidden: record.hidden,
            isWaiting: record.isWaiting,
            scheduled: record.scheduled
        )
        wasSilencedByDoNotDisturb = record.wasSilencedByDoNotDisturb
        pushes = record.pushes.mapValues { DevicePush(settled: $0) }
        acceptedSignals.restore(ends: record.ends, descriptions: record.descriptions)
        frames = KeptFrames(whole: stored.entries.map { Frame($0.object).bytes })
        countedEntries = frames.count
        events = record.events
    }
}

extension DevicePush {
    /// The result of the push, as it is stored; `nil` while the push has no result.
    fileprivate var outcome: CallRecord.PushOutcome? {
        switch phase {
        case .accepted: .accepted
        case .refused: .refused
        case .sent, .waiting, .cancelled: nil
        }
    }

    /// Creates a push whose result was known before a restart.
    fileprivate init(settled outcome: CallRecord.PushOutcome) {
        self.init(settled: outcome == .accepted ? Phase.accepted : .refused)
    }
}
