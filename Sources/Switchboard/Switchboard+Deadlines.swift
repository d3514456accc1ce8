import CallCore
import CallPorts
import HeapModule

/// Deadlines: the checks and actions that are due when a timer fires.
extension Switchboard {
    mutating func deadlineReached(at now: Moment) {
        while let timer = timers.min, timer.at <= now {
            timers.removeMin()
            switch timer.subject {
            case .connection(let id):
                guard let connection = connections[id], connection.scheduledAt == timer.at else { continue }
                connection.scheduledAt = nil
                checkUp(on: connection, at: now)
            case .probe(let id): if let connection = connections[id] { checkProbe(of: connection, at: now) }
            case .call(let number):
                if let call = calls[number] {
                    callDue(call, timerAt: timer.at, at: now)
                } else {
                    restExpired(number, at: now)
                }
            case .poll(let id): pollTimedOut(id, at: now)
            case .sweep: sweep(at: now)
            }
        }
    }

    private mutating func callDue(_ call: Call, timerAt: Moment, at now: Moment) {
        if call.scheduledAt == timerAt { call.scheduledAt = nil }
        trace(call, .timer)
        if let endedAt = call.endedAt {
            if now >= endedAt + policy.fetchableFor {
                forget(call, at: now)
                return
            }
            if putToRest(call, endedAt: endedAt, at: now) { return }
        } else {
            retryPushes(of: call, at: now)
            if let deadline = call.session.deadline, now >= deadline { drive(call, .deadlineReached, at: now) }
        }
        reschedule(call)
    }

    private mutating func sweep(at now: Moment) {
        if precautions.historyHold.allowsDeletion(at: now) {
            commits.append(
                .historyForgotten(before: Moment(milliseconds: now.milliseconds - policy.historyFor.milliseconds))
            )
            directory.forgetEpochs(at: now)
        }
        if precautions.crashShadow.end(at: now, calls: calls) { commits.append(.uncleanStartsForgotten) }
        limits.forgetFull(at: now)
        cutRevocations(at: now)
        metrics.isDeletionStopped = pushes.breaker.isOpen(at: now)
        calls.forgetEndNotices()
        schedule(.sweep, at: now + SwitchboardLimits.sweepEvery)
    }
}
