import CallCore
import CallPorts
import CallWire
import TimeZones

/// The calls that the server itself begins when a schedule is due.
///
/// The change of the schedule and the beginning or the end of its call are always in one commit. So a server that is
/// killed loses no call of a schedule, and begins none twice.
extension Switchboard {
    /// Ensures that there is a timer for the schedule that is due first.
    mutating func rescheduleSchedules() {
        guard let due = schedules.first()?.due, schedules.timerAt.map({ due < $0 }) ?? true else { return }
        schedules.timerAt = due
        schedule(.schedules, at: due)
    }

    /// Continues with the schedules of the database.
    mutating func restoreSchedules() {
        for var record in schedules.withOccurrence where liveCall(of: record) == nil && record.again == nil {
            // The call was damaged in the database, and left out.
            record.again = turn.now
            save(record)
        }
        metrics.schedules = schedules.count
        rescheduleSchedules()
    }

    /// Begins the calls that are due, a few in each turn, so that signals do not wait for them.
    mutating func schedulesDue() {
        schedules.timerAt = nil
        // The next server begins the calls that this one no longer does.
        guard !connections.isDraining else { return }
        if metrics.isStalled {
            setSchedulesTimer(after: SwitchboardLimits.schedulesRetriedAfter)
            return
        }
        for _ in 0..<SwitchboardLimits.schedulesPerTurn {
            guard let record = schedules.first(), let due = record.due, due <= turn.now else {
                rescheduleSchedules()
                return
            }
            isDue(record)
        }
        setSchedulesTimer(after: .milliseconds(1))
    }

    private mutating func setSchedulesTimer(after pause: Moment.Duration) {
        schedules.timerAt = turn.now + pause
        schedule(.schedules, at: turn.now + pause)
    }

    private mutating func isDue(_ record: ScheduleRecord) {
        var record = record
        if let again = record.again, let occurrence = record.occurrence, again <= record.next ?? again {
            record.again = nil
            if turn.now < again + SwitchboardLimits.scheduleLateness {
                ring(record, for: occurrence)
            } else {
                recordOutcome(.givenUp, of: record, for: occurrence)
                settle(record)
            }
            return
        }
        guard let occurrence = record.next else { return }
        if let call = liveCall(of: record) { process(call, .replaced) }
        record = schedules[record.user, record.id] ?? record
        record.again = nil
        record.rings = 0
        let isLate = turn.now >= occurrence + SwitchboardLimits.scheduleLateness
        // The history would drop records of earlier occurrences at once.
        let oldest = Moment(milliseconds: turn.now.milliseconds - policy.historyFor.milliseconds)
        record.next = next(of: record, after: max(occurrence, oldest))
        if isLate {
            if oldest <= occurrence { recordOutcome(.missed, of: record, for: occurrence) }
            settle(record)
        } else {
            ring(record, for: occurrence)
        }
    }

    /// Returns the first call of a schedule after a moment; `nil` = there is none, or the zone is unknown.
    func next(of record: ScheduleRecord, after moment: Moment) -> Moment? {
        policy.timeZoneRules(record.timeZone).flatMap { record.recurrence.next(after: moment, in: $0) }
    }

    /// Stores a schedule for which the user is no longer rung; removes it if it has no further call.
    private mutating func settle(_ record: ScheduleRecord) {
        var record = record
        record.occurrence = nil
        record.again = nil
        record.rings = 0
        if record.next == nil, case .once = record.recurrence.dates {
            remove(record)
        } else {
            save(record)
        }
    }

    /// Keeps a schedule, and has it stored.
    mutating func save(_ record: ScheduleRecord) {
        schedules.put(record)
        metrics.schedules = schedules.count
        commits.append(.schedule(record))
    }

    /// Removes a schedule, also from the database.
    mutating func remove(_ record: ScheduleRecord) {
        schedules.remove(record.id, of: record.user)
        metrics.schedules = schedules.count
        commits.append(.scheduleRemoved(record.user, record.id))
    }

    /// Returns the live call of a schedule.
    func liveCall(of record: ScheduleRecord) -> Call? {
        calls.live(of: record.user).last { $0.scheduled?.schedule == record.id }
    }

    // MARK: The call

    /// Begins the next ring of a schedule.
    private mutating func ring(_ record: ScheduleRecord, for occurrence: Moment) {
        var record = record
        record.occurrence = occurrence
        record.rings += 1
        save(record)
        let id = callID(of: record, for: occurrence, ring: record.rings)
        let key = CallKey(id: id, pair: Pair(record.from, record.user))
        let offer = ScheduledOffer.message(
            ring: record.ring,
            schedule: record.id,
            handle: (record.handle, record.handleType),
            data: record.data
        )
        guard case .offer(let content) = offer.content else { return }
        let hidden = reasonToHide(record)
        let call = Call(
            session: CallSession(
                number: calls.makeNumber(),
                key: key,
                epoch: directory.nextEpoch(of: key, after: calls[key]?.epoch, at: turn.now),
                caller: record.from,
                device: ScheduledRing.device,
                offer: content,
                isHidden: hidden != nil,
                scheduled: record.confirmation.map { .confirmable(isLast: record.rings >= $0.times) } ?? .unconfirmed,
                grace: policy.grace,
                firstSeq: precautions.crashShadow.firstSeq(at: turn.now),
                at: turn.now
            ),
            room: Room.name(caller: record.from, callee: record.user),
            displayName: record.displayName,
            hidden: hidden,
            isWaiting: hidden == nil && isInCall(record.user),
            scheduled: ScheduledCall(schedule: record.id, occurrence: occurrence, ring: record.rings)
        )
        calls.insert(call)
        metrics.callsBegun += 1
        metrics.scheduledRings += 1
        turn.out.append(.note(.began(id, epoch: call.epoch)))
        let source = Source(user: record.from, device: ScheduledRing.device, name: nil, transport: .request)
        _ = start(call, offer, from: source, reachesCallee: hidden == nil)
        note(call, .scheduled(record.id, occurrence: occurrence, ring: record.rings))
        noteHidden(call)
        if hidden == nil { if hasWithheldEntries(call) { call.ringsWhenShown = true } else { ring(call) } }
        reschedule(call)
    }

    private func reasonToHide(_ record: ScheduleRecord) -> CallRecord.Hidden? {
        let reason = directory.reasonToHide(record.from, from: record.user, at: turn.now)
        // A user who sets a time and do-not-disturb wants to be woken at that time.
        return reason == .doNotDisturb && record.isOwn ? nil : reason
    }

    /// Returns the callId of a ring: the same one if the ring must begin again after a crash.
    private func callID(of record: ScheduleRecord, for occurrence: Moment, ring: Int) -> CallID {
        let name = "ringline:schedule/\(record.user.text)/\(record.id.text)/\(occurrence.milliseconds)/\(ring)"
        guard let id = CallID(UUIDv5.url(name)) else { preconditionFailure("a UUID is a call id") }
        return id
    }

    /// Decides what follows the end of a scheduled call: the next ring, or nothing.
    mutating func scheduledCallEnded(_ call: Call, _ reason: EndReason) {
        guard let ring = call.scheduled, var record = schedules[call.callee, ring.schedule],
            record.occurrence == ring.occurrence, record.rings == ring.ring
        else { return }
        if let confirmation = record.confirmation, case .confirmable(isLast: false)? = call.identity.scheduled,
            call.hidden == nil, reason != .confirmed, reason != .cancelled
        {
            record.again = turn.now + confirmation.every
            save(record)
        } else {
            settle(record)
        }
        rescheduleSchedules()
    }

    /// Adds a call to the history that did not ring: one that the server missed, or that was confirmed or given up
    /// between two rings.
    private mutating func recordOutcome(_ reason: EndReason, of record: ScheduleRecord, for occurrence: Moment) {
        let ring = record.rings + 1
        let id = callID(of: record, for: occurrence, ring: ring)
        let key = CallKey(id: id, pair: Pair(record.from, record.user))
        var call = CallRecord(
            number: calls.makeNumber(),
            id: id,
            epoch: directory.nextEpoch(of: key, after: calls[key]?.epoch, at: turn.now),
            room: Room.name(caller: record.from, callee: record.user),
            caller: record.from,
            callee: record.user,
            displayName: record.displayName,
            hasVideo: false,
            startedAt: reason == .missed ? occurrence : turn.now,
            ringUntil: turn.now,
            endedAt: turn.now,
            reason: reason,
            legs: [Leg(device: ScheduledRing.device, side: .caller, phase: .left)]
        )
        call.session.scheduled = .unconfirmed
        call.scheduled = ScheduledCall(schedule: record.id, occurrence: occurrence, ring: ring)
        metrics.callsBegun += 1
        metrics.callsEnded[reason, default: 0] += 1
        commits.append(.call(call))
        let scheduled = TimelineEvent.scheduled(record.id, occurrence: occurrence, ring: ring)
        for event in [scheduled, .ended(reason)] {
            commits.append(.event(call.number, TimelineRecord(at: turn.now, event: event)))
        }
        // It has no log, and no client can fetch it.
        commits.append(.logForgotten(call.number))
    }

    /// Ends the present call of a schedule as confirmed; returns `false` if there is none.
    mutating func confirm(_ record: ScheduleRecord) -> Bool {
        if let call = liveCall(of: record) {
            process(call, .confirmed)
            return true
        }
        guard record.again != nil, let occurrence = record.occurrence else { return false }
        recordOutcome(.confirmed, of: record, for: occurrence)
        settle(record)
        return true
    }
}
