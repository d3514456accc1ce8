/// Deadlines of one length, which are due in the order in which they were set: a queue without timers.
///
/// libwebsockets' own timers are a sorted list with linear insertion. An entry is not removed when its deadline is met.
/// It names its exchange or connection, and the code that takes it checks whether it still matters.
struct DeadlineQueue<Subject> {
    private let lengthMilliseconds: UInt64
    private var entries: [(due: UInt64, subject: Subject)] = []
    private var head = 0

    init(seconds: Int) {
        lengthMilliseconds = UInt64(max(1, seconds)) * 1_000
    }

    var isEmpty: Bool { head == entries.count }

    mutating func add(_ subject: Subject, at now: UInt64) {
        entries.append((now + lengthMilliseconds, subject))
    }

    mutating func popDue(at now: UInt64) -> Subject? {
        guard head < entries.count, entries[head].due <= now else { return nil }
        let subject = entries[head].subject
        head += 1
        if head == entries.count {
            entries.removeAll()
            head = 0
        } else if head >= 256, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
        return subject
    }
}
