import CallCore
import CallPorts
import HeapModule

/// Deadlines: the checks and actions that are due when a timer fires.
extension Switchboard {
    mutating func deadlineReached() {
        while let timer = timers.min, timer.at <= turn.now {
            timers.removeMin()
            switch timer.subject {
            case .connection(let id):
                guard let connection = connections[id], connection.scheduledAt == timer.at else { continue }
                connection.scheduledAt = nil
                checkUp(on: connection)
            case .probe(let id): if let connection = connections[id] { checkProbe(of: connection) }
            case .call(let number):
                if let call = calls[number] {
                    callDeadlineReached(call, timerAt: timer.at)
                } else {
                    restExpired(number)
                }
            case .poll(let id): pollTimedOut(id)
            case .feed(let id): feedTimedOut(id)
            case .deliveries: deliveriesDue(timerAt: timer.at)
            case .decisions: decisionsDue()
            case .notice(let id): noticeIsDue(id)
            case .sweep: sweep()
            case .schedules: schedulesDue()
            }
        }
    }

    private mutating func callDeadlineReached(_ call: Call, timerAt: Moment) {
        if call.scheduledAt == timerAt { call.scheduledAt = nil }
        trace(call, .timer)
        if let endedAt = call.endedAt {
            if turn.now >= endedAt + policy.fetchableFor {
                forget(call)
                return
            }
            if putToRest(call, endedAt: endedAt) { return }
        } else {
            retryPushes(of: call)
            if let deadline = call.session.deadline, turn.now >= deadline { process(call, .deadlineReached) }
        }
        reschedule(call)
    }

    private mutating func sweep() {
        let now = turn.now
        if precautions.historyHold.allowsDeletion(at: now) {
            commits.append(
                .historyForgotten(before: now - policy.historyFor)
            )
            directory.forgetEpochs(at: now)
            forgetRemovedNumbers()
            directory.schedules.endHold()
            giveUpLateRings()
            removeSpentSchedules()
            ensureSchedulesTimer()
        }
        directory.schedules.forgetCourses(before: now - SwitchboardLimits.courseKnownFor)
        if precautions.crashShadow.end(at: now, calls: calls) { commits.append(.uncleanStartsForgotten) }
        limits.forgetFull(at: now)
        limitFutureRevocations()
        forgetOldEvents()
        metrics.isDeletionStopped = pushes.breaker.isOpen(at: now)
        calls.forgetEndNotices()
        schedule(.sweep, at: now + SwitchboardLimits.sweepEvery)
    }
}
