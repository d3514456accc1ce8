import CallPorts
import Threads

/// The queue from the event loop to the writer.
///
/// Filling it never waits, and the writer takes all of it in one step.
///
/// It has no limit of its own. The switchboard stops accepting signals when the store stalls, and its own limits bound
/// the rest.
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

    /// The contents of the mailbox.
    struct Contents: Sendable {
        var commits: [Commit] = []
        var questions: [Asked] = []
        /// Nothing more will come: commit what is queued, and close.
        var isClosing = false
        /// The store was dropped without having been closed: stop immediately.
        var isAbandoned = false

        fileprivate var isEmpty: Bool { commits.isEmpty && questions.isEmpty && !isClosing && !isAbandoned }
    }

    // Everything below is accessed only while `condition` is locked.
    private let condition = Condition()
    private var contents = Contents()

    func put(_ commit: Commit) { change { $0.commits.append(commit) } }
    func put(_ asked: Asked) { change { $0.questions.append(asked) } }
    func close() { change { $0.isClosing = true } }
    func abandon() { change { $0.isAbandoned = true } }

    /// Whether the store was closed, so that nothing more will come.
    var isClosing: Bool {
        condition.lock()
        defer { condition.unlock() }
        return contents.isClosing
    }

    /// Takes everything that is queued.
    ///
    /// With `waiting` it waits until there is something.
    ///
    /// The flags for closing and abandoning stay set.
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

    /// Takes the queued questions.
    ///
    /// Waits for one until a deadline or the end, and leaves the commits in the mailbox.
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
