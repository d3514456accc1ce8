import CallCore
import CallPorts
import TimeZones

/// Corrections of the date, and what they change for schedules.
///
/// A schedule names dates of the world, so its calls are due by the date, and not by the server's clock. See
/// Decision 0010.
extension Switchboard {
    /// Takes what is known of the wall clock now.
    mutating func clockCorrected(_ clock: WallClock) {
        let step = clock.corrected.milliseconds - turn.corrected.milliseconds
        turn.lead = clock.lead
        turn.corrected = clock.corrected
        precautions.historyHold.setClockDoubtful(!clock.agrees, at: turn.now)
        precautions.dateHold.setSteady(clock.isSteady, at: turn.now)
        precautions.dateHold.end(at: turn.now)
        if step != 0 {
            precautions.dateHold.awaitsPlan = false
            directory.schedules.endHold()
            directory.schedules.endWaits()
            noteCorrection(planSchedules(after: .milliseconds(step)))
        }
        endDateHold()
        ensureSchedulesTimer()
    }

    /// Ends the hold of schedules once its time is over; if the start caused it, the stored schedules are planned then.
    mutating func endDateHold() {
        precautions.dateHold.end(at: turn.now)
        guard precautions.dateHold.until == nil, precautions.dateHold.awaitsPlan else { return }
        precautions.dateHold.awaitsPlan = false
        noteCorrection(planSchedules())
    }

    private mutating func noteCorrection(_ changed: Int) {
        if changed > 0 { turn.out.append(.note(.schedulesPlanned(changed))) }
    }

    /// Computes each schedule's next call again; returns for how many schedules it has changed.
    ///
    /// At a start the rules of a zone may have changed. The step is the correction of the date: positive if the date
    /// was behind, negative if it was ahead.
    mutating func planSchedules(after step: Moment.Duration = .milliseconds(0)) -> Int {
        var changed = 0
        for record in directory.schedules.all {
            guard ports.timeZones?.rules(named: record.timeZone) != nil else {
                if case .weekly = record.recurrence.dates { noteUnknownZone(of: record) }
                continue
            }
            let planned = plan(record, after: step)
            if planned.next != record.next { changed += 1 }
            if planned.isSpent, !record.isSpent {
                settleSchedule(planned)
            } else if planned != record {
                storeSchedule(planned)
            }
        }
        metrics.schedules = directory.schedules.count
        return changed
    }

    private mutating func plan(_ record: ScheduleRecord, after step: Moment.Duration) -> ScheduleRecord {
        var planned = record
        if directory.schedules.course(of: record).earlierRing == nil {
            // The time between two rings is a duration.
            planned.again = record.again.map { $0 + step }
        } else {
            planned.again = limitedAgain(of: record)
        }
        if !doesRingCount(of: record, after: step) { planned.lastOccurrence = nil }
        planned.next = nextDue(of: planned, after: step)
        let isEarlier = (planned.next ?? .latest) < (record.next ?? .latest)
        guard isEarlier else { return planned }
        // The history may already have a call for this time, missed or rung by a wrong clock: the new one needs another
        // id.
        planned.salt = Int64(bitPattern: ports.random.next())
        var course = directory.schedules.course(of: record)
        if step == .milliseconds(0), (planned.next ?? .latest) + SwitchboardLimits.rungWithin < record.next ?? .latest {
            course.nextBefore = max(course.nextBefore ?? .earliest, record.next ?? .latest)
            directory.schedules.setCourse(course, of: record)
        }
        return planned
    }

    /// Whether the last time of a schedule that rang counts as rung: it rang within 12 h of its true moment.
    private func doesRingCount(of record: ScheduleRecord, after step: Moment.Duration) -> Bool {
        guard let last = record.lastOccurrence, turn.date < last else { return true }
        // The time is still to come, so the date was ahead when it rang: by the step, or by more than the time left.
        let most = SwitchboardLimits.rungWithin
        return last <= turn.date + most && step >= .milliseconds(-most.milliseconds)
    }

    /// Returns when a schedule is due next; it may be overdue.
    private func nextDue(of record: ScheduleRecord, after step: Moment.Duration) -> Moment? {
        let course = directory.schedules.course(of: record)
        let isAhead = step > .milliseconds(0)
        // The date was behind the store at the start; this alone made the schedule due so early.
        if isAhead, precautions.dateHold.isPossible(turn.date), let before = course.nextBefore,
            (record.next ?? .latest) < before
        {
            return before == .latest ? nil : nextUnrung(of: record, after: before - .milliseconds(1))
        }
        let setAt = course.setAt.map { $0 + turn.lead }
        if let next = record.next, next <= turn.date {
            guard let setAt, next <= setAt, wasBehindAtStart(record) else { return next }
            return nextUnrung(of: record, after: setAt)
        }
        if isAhead { return nextUnrung(of: record, after: turn.date) }
        guard step < .milliseconds(0) else { return nextUnrung(of: record, after: directory.schedules.startedOn) }
        // The date was ahead: a call that is in time by the true date was recorded as missed, or rang for another day.
        let late = turn.date - precautions.dateHold.lateness(at: turn.now)
        let start = setAt ?? late
        return nextUnrung(of: record, after: max(start, course.rungAt.map { $0 + turn.lead } ?? start))
    }

    /// Whether a step forward means that the date was behind since the start, so that a schedule made meanwhile has
    /// missed nothing.
    ///
    /// A wrong clock is set right soon after a start. A later step means that the machine was paused, and the schedule
    /// has missed its call. A schedule of one date has missed it in both cases.
    private func wasBehindAtStart(_ record: ScheduleRecord) -> Bool {
        guard case .weekly = record.recurrence.dates else { return false }
        return turn.now < directory.schedules.startedAt + SwitchboardLimits.historyHeldAfterStart
    }

    /// Returns the first time of a schedule after a moment, without the one that has rung.
    private func nextUnrung(of record: ScheduleRecord, after moment: Moment) -> Moment? {
        guard let last = record.lastOccurrence else { return nextCall(of: record, after: moment) }
        let next = nextCall(of: record, after: max(moment, min(last, turn.date)))
        // The rules of the zone may have changed since it rang.
        let same = last - SwitchboardLimits.rungWithin...last + SwitchboardLimits.rungWithin
        guard let next, same.contains(next) else { return next }
        return nextCall(of: record, after: same.upperBound)
    }
}

extension Moment {
    fileprivate static let earliest = Moment(milliseconds: .min)
    fileprivate static let latest = Moment(milliseconds: .max)
}
