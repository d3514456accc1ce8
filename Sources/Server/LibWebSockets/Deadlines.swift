internal import DequeModule

/// Deadlines of one length: they fall due in the order in which they were set, so a queue replaces timers.
///
/// libwebsockets' own timers are a sorted list with linear insertion. An entry stays in this queue even if the awaited
/// event comes in time. The code that pops the entry checks whether its request or connection still waits.
struct DeadlineQueue<Subject> {
    private let lengthMilliseconds: UInt64
    private var entries = Deque<(due: UInt64, subject: Subject)>()

    init(seconds: Int) {
        lengthMilliseconds = UInt64(max(1, seconds)) * 1_000
    }

    var isEmpty: Bool { entries.isEmpty }

    mutating func add(_ subject: Subject, at now: UInt64) {
        entries.append((now + lengthMilliseconds, subject))
    }

    mutating func popDue(at now: UInt64) -> Subject? {
        guard let first = entries.first, first.due <= now else { return nil }
        entries.removeFirst()
        return first.subject
    }
}
