import CallCore
import CallPorts
import HeapModule

/// A moment at which something must be checked.
///
/// Timers are never cancelled: the code that a timer wakes checks whether anything is due.
struct Timer: Comparable {
    enum Subject: Equatable {
        case connection(SocketID)
        case probe(SocketID)
        case call(CallNumber)
        case poll(RequestID)
        case feed(RequestID)
        case deliveries
        case decisions
        case notice(PushID)
        case sweep
        case schedules
    }

    let at: Moment
    let subject: Subject

    static func < (a: Self, b: Self) -> Bool { a.at < b.at }
}

extension Switchboard {
    mutating func schedule(_ subject: Timer.Subject, at moment: Moment) {
        timers.insert(Timer(at: moment, subject: subject))
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
}
