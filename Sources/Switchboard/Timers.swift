import CallCore
import CallPorts
import HeapModule

/// A moment at which something must be checked.
///
/// Timers are never cancelled: the code that a timer wakes checks whether anything is due.
struct Timer: Comparable {
    enum Subject: Equatable {
        case session(SessionID)
        case probe(SessionID)
        case call(CallNumber)
        case poll(RequestID)
        case sweep
    }

    let at: Moment
    let subject: Subject

    static func < (a: Self, b: Self) -> Bool { a.at < b.at }
}

extension Switchboard {
    /// How often expired state is removed.
    static let sweepEvery = Moment.Span.seconds(60)

    mutating func schedule(_ subject: Timer.Subject, at moment: Moment) {
        timers.insert(Timer(at: moment, subject: subject))
    }

    mutating func deadlineReached(at now: Moment) {
        while let timer = timers.min, timer.at <= now {
            timers.removeMin()
            switch timer.subject {
            case .session(let id):
                guard let session = sessions[id], session.scheduledAt == timer.at else { continue }
                session.scheduledAt = nil
                checkUp(on: session, at: now)
            case .probe(let id): if let session = sessions[id] { checkProbe(of: session, at: now) }
            case .call(let number):
                if let call = calls[number] {
                    callDue(call, timerAt: timer.at, at: now)
                } else {
                    restIsOver(number, at: now)
                }
            case .poll(let id): pollTimedOut(id, at: now)
            case .sweep: sweep(at: now)
            }
        }
    }

    /// The number of pending timers.
    var timerCount: Int { timers.count }

    /// Ensures that there is a timer for a call's next deadline.
    mutating func reschedule(_ call: Call) {
        guard let deadline = call.deadline(fetchableFor: policy.fetchableFor) else { return }
        if let at = call.scheduledAt, at <= deadline { return }
        call.scheduledAt = deadline
        schedule(.call(call.number), at: deadline)
    }

    private mutating func callDue(_ call: Call, timerAt: Moment, at now: Moment) {
        if call.scheduledAt == timerAt { call.scheduledAt = nil }
        if let endedAt = call.endedAt {
            if now >= endedAt + policy.fetchableFor {
                forget(call, at: now)
                return
            }
            if rests(call, endedAt: endedAt, at: now) { return }
        } else {
            retryPushes(of: call, at: now)
            if let deadline = call.session.deadline, now >= deadline { drive(call, .deadlineReached, at: now) }
        }
        reschedule(call)
    }

    /// Removes an ended call that can no longer be fetched: its log is deleted, its timeline stays.
    mutating func forget(_ call: Call, at now: Moment) {
        keepSignals(of: call, at: now)
        changes.append(.logForgotten(call.number))
        for id in call.polls { if let poll = polls.removeValue(forKey: id) { answer(poll, as: id, at: now) } }
        calls.remove(call)
    }

    /// Sets the count of unclean starts back to 0 once the next start does not need it.
    ///
    /// Each unclean start made `seq` skip the values that a crash may have lost. The count is needed until every live
    /// call has an entry with a `seq` after the skipped ones, and until no device can ring any more for a call that a
    /// crash lost completely.
    private mutating func forgetCrashes(at now: Moment) {
        guard crashes > 0, now >= startedAt + policy.crashShadow else { return }
        var isSettled = true
        calls.forEachLive { if $0.session.hasGapAtEnd { isSettled = false } }
        guard isSettled else { return }
        crashes = 0
        changes.append(.crashesForgotten)
    }

    private mutating func sweep(at now: Moment) {
        if historyHold.allowsDeletion(at: now) {
            changes.append(
                .historyForgotten(before: Moment(milliseconds: now.milliseconds - policy.historyFor.milliseconds))
            )
            directory.forgetEpochs(at: now)
        }
        forgetCrashes(at: now)
        limits.forgetFull(at: now)
        cutRevocations(at: now)
        metrics.isDeletionStopped = breaker.isOpen(at: now)
        for user in news.keys.sorted() {
            let kept = (news[user] ?? []).filter { isKept($0) }
            news[user] = kept.isEmpty ? nil : kept
        }
        schedule(.sweep, at: now + Self.sweepEvery)
    }
}
