import CallCore
import CallPorts
import CallWire
import TimeZones

/// When schedules are due next, and what follows the end of their calls.
extension Switchboard {
    /// Ensures that there is a timer for the schedule that is due first.
    mutating func ensureSchedulesTimer() {
        let due = (directory.schedules.first()?.due).map { moment(ofDate: $0) }
        guard let at = precautions.dateHold.until ?? due else { return }
        guard directory.schedules.timerAt.map({ at < $0 }) ?? true else { return }
        directory.schedules.timerAt = at
        schedule(.schedules, at: at)
    }

    /// Returns when a date comes, by the server's clock.
    ///
    /// While that clock is slewed, the time left may be off by a twentieth; the moment is then rather too early than
    /// too late.
    private func moment(ofDate date: Moment) -> Moment {
        let left = (date - turn.date).milliseconds
        let isSlewed = turn.lead.milliseconds != 0
        return turn.now + .milliseconds(isSlewed && left > 0 ? left - left / 20 : left)
    }

    mutating func noteUnknownZone(of record: ScheduleRecord) {
        turn.out.append(.note(.unknownTimeZone(record.user)))
    }

    /// Returns the first call of a schedule after a moment; `nil` = there is none, or the zone is unknown.
    func nextCall(of record: ScheduleRecord, after moment: Moment) -> Moment? {
        ports.timeZones?.rules(named: record.timeZone).flatMap { record.recurrence.next(after: moment, in: $0) }
    }

    /// Stores a schedule for which the user is no longer rung; removes it if it has no further call.
    mutating func settleSchedule(_ record: ScheduleRecord) {
        var record = record
        record.occurrence = nil
        record.again = nil
        record.rings = 0
        let mayStay =
            !precautions.historyHold.allowsDeletion(at: turn.now)
            && directory.schedules.spentCount(of: record.user) < policy.schedulesPerUser
        if record.isSpent, !mayStay { removeSchedule(record) } else { storeSchedule(record) }
    }

    /// Gives up the further rings whose date was too long ago after the start; called once the clock can be trusted.
    mutating func giveUpLateRings() {
        for record in directory.schedules.withLateRings {
            if let occurrence = record.occurrence { skipRing(of: record, for: occurrence, .late) }
            settleSchedule(record)
        }
    }

    /// Removes the spent schedules; called once the clock can be trusted with it.
    mutating func removeSpentSchedules() {
        for (user, id) in directory.schedules.allSpent {
            directory.schedules.remove(id, of: user)
            commits.append(.scheduleRemoved(user, id))
        }
    }

    /// Keeps a schedule, and has it stored.
    mutating func storeSchedule(_ record: ScheduleRecord) {
        directory.schedules.put(record)
        metrics.schedules = directory.schedules.count
        commits.append(.schedule(record))
    }

    /// Removes a schedule, also from the database.
    mutating func removeSchedule(_ record: ScheduleRecord) {
        directory.schedules.remove(record.id, of: record.user)
        metrics.schedules = directory.schedules.count
        commits.append(.scheduleRemoved(record.user, record.id))
    }

    /// Returns the live call of a schedule.
    func liveCall(of record: ScheduleRecord) -> Call? {
        calls.live(of: record.user).last { $0.scheduled?.schedule == record.id }
    }

    /// Returns the time from the end of a call that was not confirmed to the next ring; `nil` = no ring may follow.
    func pause(after call: Call, of record: ScheduleRecord) -> Moment.Duration? {
        guard case .confirmable(isLast: false)? = call.identity.scheduled, call.hidden == nil else { return nil }
        // The schedule may have changed while the call rang.
        guard let confirmation = record.confirmation, record.rings < confirmation.times else { return nil }
        return confirmation.every
    }

    /// Returns when a further ring from before the start is due, at most its pause from now: the clock may have been ahead
    /// before the start.
    func limitedAgain(of record: ScheduleRecord) -> Moment? {
        guard let again = record.again, let every = record.confirmation?.every else { return record.again }
        return min(again, turn.date + every)
    }

    /// Whether no further ring follows a call of a schedule that ends unanswered.
    func isLastRing(_ call: Call) -> Bool {
        guard let ring = call.scheduled, let record = directory.schedules[call.callee, ring.schedule] else {
            return true
        }
        return pause(after: call, of: record) == nil
    }

    /// Decides what follows the end of a scheduled call: the next ring, or nothing.
    mutating func scheduledCallEnded(_ call: Call, _ reason: EndReason) {
        guard let ring = call.scheduled, var record = directory.schedules[call.callee, ring.schedule],
            record.occurrence == ring.occurrence, record.rings == ring.ring
        else { return }
        if reason != .confirmed, reason != .cancelled, let pause = pause(after: call, of: record) {
            // A server that was down notices only at its start that the ring is over.
            let end = reason == .unanswered ? call.session.ringUntil : turn.now
            record.again = end + turn.lead + pause
            storeSchedule(record)
            if end < directory.schedules.startedAt { directory.schedules.setEarlierRing(.planned, of: record) }
        } else {
            if let type = record.outcome(of: call, reason) {
                reportOccurrence(type, of: record, ring.occurrence, rings: ring.ring)
            }
            settleSchedule(record)
        }
        ensureSchedulesTimer()
    }

    /// Adds the next ring of a schedule to the history, as a call that did not ring.
    mutating func skipRing(of record: ScheduleRecord, for occurrence: Moment, _ why: TimelineEvent.SkippedRing) {
        let ring = record.rings + 1
        let reason: EndReason = why == .confirmed ? .confirmed : record.rings == 0 ? .missed : .givenUp
        let id = callIDOfRing(of: record, for: occurrence, ring: ring)
        let key = CallKey(id: id, pair: Pair(record.from, record.user))
        let startedAt = reason == .missed ? occurrence : turn.now
        // The server's clock may be behind the date.
        let endedAt = max(turn.now, startedAt)
        let (number, epoch) = numberCall(key, after: calls[key])
        var call = CallRecord(
            number: number,
            id: id,
            epoch: epoch,
            room: Room.name(caller: record.from, callee: record.user),
            caller: record.from,
            callee: record.user,
            displayName: record.shownName,
            hasVideo: false,
            startedAt: startedAt,
            ringUntil: endedAt,
            endedAt: endedAt,
            reason: reason,
            legs: [Leg(device: ScheduledCall.device, side: .caller, phase: .left)]
        )
        call.session.scheduled = .once
        let scheduled = ScheduledRing(schedule: record.id, occurrence: occurrence, ring: ring)
        call.scheduled = scheduled
        metrics.callsEnded[reason, default: 0] += 1
        commits.append(.call(call))
        for event in [scheduled.event, .ringSkipped(why), .ended(reason)] {
            commits.append(.event(call.number, TimelineRecord(at: turn.now, event: event)))
        }
        let outcome: AppEventType =
            switch reason {
            case .confirmed: .scheduleConfirmed
            case .missed: .scheduleMissed
            default: .scheduleGivenUp
            }
        reportOccurrence(outcome, of: record, occurrence, rings: record.rings)
        // It has no log, and no client can fetch it.
        commits.append(.logForgotten(call.number))
    }

    /// Cancels the next ring of a schedule, because its user has confirmed; returns `false` if none was to come.
    mutating func cancelNextRing(of record: ScheduleRecord) -> Bool {
        guard record.again != nil, let occurrence = record.occurrence else { return false }
        skipRing(of: record, for: occurrence, .confirmed)
        settleSchedule(record)
        ensureSchedulesTimer()
        return true
    }

    /// Returns the callId of a ring.
    ///
    /// It is made from the schedule's salt, so that nobody can tell it beforehand, and a ring that must begin again after a
    /// crash has the same one.
    func callIDOfRing(of record: ScheduleRecord, for occurrence: Moment, ring: Int) -> CallID {
        let name =
            "ringline:schedule/\(record.user.text)/\(record.id.text)/\(occurrence.milliseconds)/\(ring)/\(record.salt)"
        guard let id = CallID(UUIDv5.url(name)) else { preconditionFailure("a UUID is a call id") }
        return id
    }
}

extension ScheduleRecord {
    /// Returns what has become of an occurrence whose last call has ended; `nil` = nothing that is reported.
    fileprivate func outcome(of call: Call, _ reason: EndReason) -> AppEventType? {
        switch reason {
        case .confirmed: .scheduleConfirmed
        // The schedule was removed.
        case .cancelled: nil
        case _ where confirmation != nil: .scheduleGivenUp
        case _ where call.session.answeredAt == nil: .scheduleMissed
        default: nil
        }
    }
}
