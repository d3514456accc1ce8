import CallCore
import CallPorts
import CallWire
import TimeZones

/// The calls that the server itself begins when a schedule is due.
///
/// The change of the schedule and the beginning or the end of its call are always in one commit. So a server that is
/// killed loses no call of a schedule, and begins none twice.
extension Switchboard {
    /// Continues with the schedules of the database.
    mutating func restoreSchedules() {
        for record in directory.schedules.all where record.again == nil { restoreRing(of: record) }
        for var record in directory.schedules.all where record.next.map({ turn.now < $0 }) ?? true {
            // The rules of the zone may have changed since the last start.
            let next = nextCall(of: record, after: searchStart(of: record))
            if next == nil, case .weekly = record.recurrence.dates { noteUnknownZone(of: record) }
            guard next != record.next, next != nil else { continue }
            record.next = next
            storeSchedule(record)
        }
        if precautions.historyHold.clockMayBeAhead {
            // A call that was due later than this still rings.
            let late = turn.now - SwitchboardLimits.scheduleLateness
            directory.schedules.hold(dueBefore: late)
        }
        metrics.schedules = directory.schedules.count
        ensureSchedulesTimer()
    }

    /// Returns the moment after which the next call of a schedule is searched for.
    ///
    /// A clock that is a little behind rings nothing a second time. If the last call was far in the future, the clock was
    /// wrong then: the schedule must not be silent until that day comes.
    private func searchStart(of record: ScheduleRecord) -> Moment {
        guard let last = record.lastOccurrence, last <= turn.now + SwitchboardLimits.oddDistance else {
            return turn.now
        }
        return max(turn.now, last)
    }

    /// Continues with a schedule whose ring was live when the server stopped.
    ///
    /// The call itself goes on, and its end decides about the next ring. After a long time without a server no ring
    /// follows: a user who wanted to be woken in the morning must not be rung in the afternoon.
    private mutating func restoreRing(of record: ScheduleRecord) {
        guard let occurrence = record.occurrence else { return }
        guard let call = liveCall(of: record) else {
            // The call was damaged in the database, and left out.
            restoreLostRing(of: record, for: occurrence)
            return
        }
        // A call that was answered goes on, however long ago it rang: the server may have been away for a second only.
        guard call.session.answeredAt == nil else { return }
        let pause = pause(after: call, of: record)
        let due = call.session.ringUntil + (pause ?? .milliseconds(0))
        guard turn.now >= due + SwitchboardLimits.scheduleLateness else { return }
        // If no ring may follow, the end of the call itself is the outcome.
        if pause != nil { skipRing(of: record, for: occurrence, .late) }
        settleSchedule(record)
    }

    private mutating func restoreLostRing(of record: ScheduleRecord, for occurrence: Moment) {
        if turn.now < occurrence + SwitchboardLimits.scheduleLateness {
            var record = record
            record.again = turn.now
            storeSchedule(record)
        } else {
            skipRing(of: record, for: occurrence, .late)
            settleSchedule(record)
        }
    }

    /// Begins the calls that are due, a few in each turn, so that signals do not wait for them.
    mutating func schedulesDue() {
        directory.schedules.timerAt = nil
        // The next server begins the calls that this one no longer does.
        guard !connections.isDraining else { return }
        if metrics.isStalled {
            setSchedulesTimer(after: SwitchboardLimits.schedulesRetriedAfter)
            return
        }
        let isLate =
            directory.schedules.first()?.due.map { turn.now >= $0 + SwitchboardLimits.schedulesLateAfter } ?? false
        let most = isLate ? SwitchboardLimits.lateSchedulesPerTurn : SwitchboardLimits.schedulesPerTurn
        for _ in 0..<most {
            guard let record = directory.schedules.first(), let due = record.due, due <= turn.now else {
                ensureSchedulesTimer()
                return
            }
            scheduleIsDue(record)
        }
        setSchedulesTimer(after: .milliseconds(1))
    }

    private mutating func setSchedulesTimer(after pause: Moment.Duration) {
        directory.schedules.timerAt = turn.now + pause
        schedule(.schedules, at: turn.now + pause)
    }

    private mutating func scheduleIsDue(_ record: ScheduleRecord) {
        var record = record
        if let again = record.again, let occurrence = record.occurrence, again <= record.next ?? again {
            record.again = nil
            if turn.now < again + SwitchboardLimits.scheduleLateness {
                beginCall(of: record, for: occurrence)
            } else {
                skipRing(of: record, for: occurrence, .late)
                settleSchedule(record)
            }
            return
        }
        guard let occurrence = record.next else { return }
        if let call = liveCall(of: record) { process(call, .replaced) }
        record = directory.schedules[record.user, record.id] ?? record
        record.again = nil
        record.rings = 0
        record.lastOccurrence = occurrence
        let isLate = turn.now >= occurrence + SwitchboardLimits.scheduleLateness
        // The history would drop records of earlier occurrences at once.
        let oldest = turn.now - policy.historyFor
        record.next = nextCall(of: record, after: max(occurrence, oldest))
        if record.next == nil, case .weekly = record.recurrence.dates { noteUnknownZone(of: record) }
        if isLate {
            if oldest <= occurrence { skipRing(of: record, for: occurrence, .late) }
            settleSchedule(record)
        } else {
            beginCall(of: record, for: occurrence)
        }
    }

    // MARK: The call

    /// Begins the next ring of a schedule.
    private mutating func beginCall(of record: ScheduleRecord, for occurrence: Moment) {
        guard limits.scheduledRings.take(record.user, at: turn.now) else {
            metrics.limited[.scheduledRings] += 1
            skipRing(of: record, for: occurrence, .limit)
            settleSchedule(record)
            return
        }
        var record = record
        record.occurrence = occurrence
        record.rings += 1
        storeSchedule(record)
        let id = callIDOfRing(of: record, for: occurrence, ring: record.rings)
        let key = CallKey(id: id, pair: Pair(record.from, record.user))
        let offer = ScheduledOffer.message(
            ring: record.ring,
            schedule: record.id,
            handle: (record.handle, record.handleType),
            data: record.data
        )
        guard case .offer(let content) = offer.content else { return }
        let hidden = reasonToHide(offer, of: record)
        let call = Call(
            session: CallSession(
                number: calls.makeNumber(),
                key: key,
                epoch: directory.nextEpoch(of: key, after: calls[key]?.epoch, at: turn.now),
                caller: record.from,
                device: ScheduledCall.device,
                offer: content,
                isHidden: hidden != nil,
                scheduled: record.confirmation.map { .confirmable(isLast: record.rings >= $0.times) } ?? .once,
                grace: policy.grace,
                firstSeq: precautions.crashShadow.firstSeq(at: turn.now),
                at: turn.now
            ),
            room: Room.name(caller: record.from, callee: record.user),
            displayName: record.displayName,
            hidden: hidden,
            isWaiting: hidden == nil && isInCall(record.user),
            scheduled: ScheduledRing(schedule: record.id, occurrence: occurrence, ring: record.rings)
        )
        calls.insert(call)
        metrics.callsBegun += 1
        metrics.scheduledRings += 1
        turn.out.append(.note(.began(id, epoch: call.epoch)))
        let source = Source(user: record.from, device: ScheduledCall.device, name: nil, transport: .request)
        _ = start(call, offer, from: source, reachesCallee: hidden == nil)
        note(call, .scheduled(record.id, occurrence: occurrence, ring: record.rings))
        noteHidden(call)
        if hidden == nil { if hasWithheldEntries(call) { call.ringsWhenShown = true } else { ring(call) } }
        reschedule(call)
    }

    private func reasonToHide(_ offer: SignalMessage, of record: ScheduleRecord) -> CallRecord.Hidden? {
        if isNumberBlocked(in: offer, of: record.from, by: record.user) { return .block }
        let reason = directory.reasonToHide(record.from, from: record.user, at: turn.now)
        // See `isSilencedByDoNotDisturb(_:)`.
        return reason == .doNotDisturb && record.isOwn ? nil : reason
    }

    /// Ends the present call of a schedule as confirmed; returns `false` if there is none.
    mutating func confirmCall(of record: ScheduleRecord) -> Bool {
        if let call = liveCall(of: record), call.hidden == nil {
            process(call, .confirmed)
            return true
        }
        return cancelNextRing(of: record)
    }

    /// Takes a confirmation that has come after the end of its ring, and cancels the next ring, or ends the one that has
    /// begun meanwhile; returns `false` for any other signal.
    mutating func takeLateConfirmation(_ signal: Signal, of call: Call, by device: DeviceIdentity) -> Bool {
        guard case .confirm = signal.content, let ring = call.scheduled,
            let record = directory.schedules[call.callee, ring.schedule], record.occurrence == ring.occurrence
        else { return false }
        // After the answer only the answering device may confirm.
        if let answering = liveCall(of: record)?.session.answeringDevice, !answering.isSame(as: device) { return false }
        return confirmCall(of: record)
    }
}
