import Switchboard
import Threads

/// What the loop hands to the writer: filled without waiting, emptied in one grasp.
///
/// Not limited here: the switchboard stops taking signals when the store stalls, and its own limits bound the rest.
final class Mailbox: @unchecked Sendable {
    /// One commit.
    struct Commit: Sendable {
        let changes: [Change]
        let ticket: Ticket
    }

    /// One question.
    struct Asked: Sendable {
        let question: Question
        let id: QuestionID
    }

    /// What had gathered.
    struct Contents: Sendable {
        var commits: [Commit] = []
        var questions: [Asked] = []
        /// Nothing more will come: save what there is, and close.
        var isClosing = false
        /// The store was dropped without having been closed: stop at once.
        var isAbandoned = false

        fileprivate var isEmpty: Bool { commits.isEmpty && questions.isEmpty && !isClosing && !isAbandoned }
    }

    // Everything below is touched with `condition` locked.
    private let condition = Condition()
    private var contents = Contents()

    func put(_ commit: Commit) { change { $0.commits.append(commit) } }
    func put(_ asked: Asked) { change { $0.questions.append(asked) } }
    func close() { change { $0.isClosing = true } }
    func abandon() { change { $0.isAbandoned = true } }

    /// Whether nothing more will come.
    var isClosing: Bool {
        condition.lock()
        defer { condition.unlock() }
        return contents.isClosing
    }

    /// All that has gathered; waits for something unless told not to.
    ///
    /// Closing and abandoning stay set.
    func takeAll(waiting: Bool) -> Contents {
        condition.lock()
        defer { condition.unlock() }
        while waiting, contents.isEmpty { condition.wait() }
        var taken = Contents()
        swap(&taken, &contents)
        contents.isClosing = taken.isClosing
        contents.isAbandoned = taken.isAbandoned
        return taken
    }

    /// Waits until a deadline, for a question, or for the end; leaves the commits where they are.
    func takeQuestions(until deadline: Deadline) -> Contents {
        condition.lock()
        defer { condition.unlock() }
        while contents.questions.isEmpty, !contents.isClosing, !contents.isAbandoned, condition.wait(until: deadline) {}
        var taken = Contents(isClosing: contents.isClosing, isAbandoned: contents.isAbandoned)
        swap(&taken.questions, &contents.questions)
        return taken
    }

    private func change(_ body: (inout Contents) -> Void) {
        condition.lock()
        body(&contents)
        condition.unlock()
        condition.signal()
    }
}
