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
        directory.schedules.startedAt = turn.now
        directory.schedules.startedOn = turn.date
        for record in directory.schedules.all {
            if record.again == nil { restoreRing(of: record) } else { restoreAgain(of: record) }
        }
        if !precautions.dateHold.awaitsPlan { _ = planSchedules() }
        if precautions.historyHold.clockMayBeAhead {
            // A call that was due later than this still rings.
            let late = turn.date - SwitchboardLimits.scheduleLateness
            directory.schedules.hold(dueBefore: late)
        }
        metrics.schedules = directory.schedules.count
        ensureSchedulesTimer()
    }

    /// Continues with a schedule's next ring.
    private mutating func restoreAgain(of record: ScheduleRecord) {
        let limited = limitedAgain(of: record)
        if limited == record.again { return directory.schedules.setEarlierRing(.planned, of: record) }
        var record = record
        record.again = limited
        storeSchedule(record)
    }

    /// Continues with a schedule whose ring was live when the server stopped.
    ///
    /// The call itself goes on, and its end decides about the next ring.
    private mutating func restoreRing(of record: ScheduleRecord) {
        // A call that was damaged in the database was left out.
        guard let occurrence = record.occurrence, liveCall(of: record) == nil else { return }
        let isLate = turn.date >= occurrence + SwitchboardLimits.scheduleLateness
        var record = record
        record.again = isLate ? occurrence : turn.date
        storeSchedule(record)
        if isLate { directory.schedules.setEarlierRing(.planned, of: record) }
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
        endDateHold()
        if precautions.dateHold.until != nil {
            ensureSchedulesTimer()
            return
        }
        let isLate =
            (directory.schedules.first()?.due).map { turn.date >= $0 + SwitchboardLimits.schedulesLateAfter } ?? false
        let most = isLate ? SwitchboardLimits.lateSchedulesPerTurn : SwitchboardLimits.schedulesPerTurn
        for _ in 0..<most {
            guard let first = directory.schedules.first(), first.due <= turn.date else {
                ensureSchedulesTimer()
                return
            }
            scheduleIsDue(first.record)
        }
        setSchedulesTimer(after: .milliseconds(1))
    }

    private mutating func setSchedulesTimer(after pause: Moment.Duration) {
        directory.schedules.timerAt = turn.now + pause
        schedule(.schedules, at: turn.now + pause)
    }

    private mutating func scheduleIsDue(_ record: ScheduleRecord) {
        let isWaiting = directory.schedules.course(of: record).earlierRing == .late
        if !isWaiting, let again = record.again, let occurrence = record.occurrence, again <= record.next ?? again {
            furtherRingIsDue(record, for: occurrence, at: again)
            return
        }
        guard let occurrence = record.next else { return }
        if let call = liveCall(of: record) { process(call, .replaced) }
        let earlier = directory.schedules[record.user, record.id] ?? record
        let isLate = turn.date >= occurrence + precautions.dateHold.lateness(at: turn.now)
        // The history would drop records of earlier occurrences at once.
        let oldest = turn.date - policy.historyFor
        var course = directory.schedules.course(of: earlier)
        course.setAt = nil
        directory.schedules.setCourse(course, of: earlier)
        var record = earlier
        record.again = nil
        record.rings = 0
        record.next = nextCall(of: record, after: max(occurrence, oldest))
        if record.next == nil, case .weekly = record.recurrence.dates { noteUnknownZone(of: record) }
        guard isLate else {
            if isWaiting, let given = earlier.occurrence { skipRing(of: earlier, for: given, .late) }
            return beginNextRing(of: record, for: occurrence)
        }
        if oldest <= occurrence { skipRing(of: record, for: occurrence, .late) }
        guard isWaiting else { return settleSchedule(record) }
        // If the date is ahead, the ring that waits is the right one.
        (record.again, record.rings) = (earlier.again, earlier.rings)
        storeSchedule(record)
    }

    /// Begins a further ring, or gives it up if it is too late: a user who wanted to be woken in the morning must not be
    /// rung in the afternoon.
    private mutating func furtherRingIsDue(_ record: ScheduleRecord, for occurrence: Moment, at again: Moment) {
        var record = record
        if turn.date < again + precautions.dateHold.lateness(at: turn.now) {
            record.again = nil
            beginNextRing(of: record, for: occurrence)
        } else if directory.schedules.course(of: record).earlierRing == nil
            || precautions.historyHold.allowsDeletion(at: turn.now)
        {
            skipRing(of: record, for: occurrence, .late)
            settleSchedule(record)
        } else {
            directory.schedules.setEarlierRing(.late, of: record)
        }
    }

    // MARK: The call

    /// Begins the next ring of a schedule.
    private mutating func beginNextRing(of record: ScheduleRecord, for occurrence: Moment) {
        if let why = reasonToSkip(record) {
            skipRing(of: record, for: occurrence, why)
            settleSchedule(record)
            return
        }
        var record = record
        record.occurrence = occurrence
        record.rings += 1
        // A further ring may be for a time that the schedule no longer names.
        if record.rings == 1 { record.lastOccurrence = occurrence }
        directory.schedules.noteRing(of: record, at: turn.now)
        storeSchedule(record)
        let id = callIDOfRing(of: record, for: occurrence, ring: record.rings)
        let scheduled = record.confirmation.map {
            ScheduledCall.confirmable(isLast: record.rings >= $0.times)
        }
        let ring = ScheduledRing(schedule: record.id, occurrence: occurrence, ring: record.rings)
        _ = beginScheduledCall(ring, of: record, as: scheduled ?? .once, id)
    }

    /// Returns the reached limit of its user that keeps a ring from beginning; `nil` = it may begin.
    private mutating func reasonToSkip(_ record: ScheduleRecord) -> TimelineEvent.SkippedRing? {
        if quotaRefusal(of: record.user) != nil { return .quota }
        guard limits.scheduledRings.admit(record.user, at: turn.now) else {
            metrics.limited[.scheduledRings] += 1
            return .limit
        }
        return nil
    }

    /// Returns the callId of the trial that requests with this key ask for.
    ///
    /// It is made of the key, so that it finds the call of an earlier request, also after a restart.
    func callID(ofTrial key: SignalID, of record: ScheduleRecord) -> CallID {
        let name = "ringline:trial/\(record.user.text)/\(record.id.text)/\(key.text)/\(record.salt)"
        guard let id = CallID(UUIDv5.url(name)) else { preconditionFailure("a UUID is a call id") }
        return id
    }

    /// Returns the call of a schedule's trial that has this callId, also if it has ended or is hidden from its user.
    func earlierTrial(_ id: CallID, of record: ScheduleRecord) -> Call? {
        calls.everything(named: id, of: record.user).last {
            $0.scheduled?.schedule == record.id && $0.scheduled?.ring == ScheduledRing.trial
        }
    }

    /// Rings a schedule now, on trial; returns the call.
    ///
    /// The schedule stays as it is. The call is the only ring, also if the schedule asks for a confirmation.
    mutating func ringOnTrial(_ record: ScheduleRecord, as id: CallID) throws(WireError) -> Call {
        if connections.isDraining { throw WireError(.draining, "the server is shutting down") }
        if metrics.isStalled { throw Self.storeUnavailableError }
        guard record.occurrence == nil, liveCall(of: record) == nil else {
            throw WireError(.callExists, "the schedule is ringing its user")
        }
        if let refusal = quotaRefusal(of: record.user) { throw refusal }
        guard limits.scheduledRings.admit(record.user, at: turn.now) else {
            throw exceeded(
                .scheduledRings,
                "schedules ring a user at most \(policy.callsPerMinute) times a minute"
            )
        }
        let ring = ScheduledRing(schedule: record.id, occurrence: turn.date, ring: ScheduledRing.trial)
        let scheduled: ScheduledCall = record.confirmation == nil ? .once : .confirmable(isLast: true)
        return beginScheduledCall(ring, of: record, as: scheduled, id)
    }

    /// Begins a call of a schedule.
    private mutating func beginScheduledCall(
        _ ring: ScheduledRing,
        of record: ScheduleRecord,
        as scheduled: ScheduledCall,
        _ id: CallID
    ) -> Call {
        let message = ScheduledOffer.message(
            ring: record.ring,
            schedule: record.id,
            handle: (record.handle, record.handleType),
            data: record.data
        )
        guard case .offer(let offer) = message.content else { preconditionFailure("a scheduled offer is an offer") }
        let source = Source(user: record.from, device: ScheduledCall.device, name: nil, transport: .request)
        let beginning = Beginning.bySchedule(record, ring, scheduled)
        return beginCall(beginning, as: id, offer, message, from: source, to: record.user).call
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
