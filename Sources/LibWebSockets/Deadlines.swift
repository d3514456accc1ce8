internal import DequeModule

/// Deadlines of one length, which are due in the order in which they were set: a queue without timers.
///
/// libwebsockets' own timers are a sorted list with linear insertion. An entry is not removed when its deadline is met.
/// It names its exchange or connection, and the code that takes it checks whether it still matters.
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
