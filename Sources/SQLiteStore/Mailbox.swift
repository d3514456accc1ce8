import CallPorts
import Threads

/// The queue from the event loop to the writer.
///
/// Filling it never waits, and the writer takes all of it in one step.
///
/// It has no limit of its own. The switchboard stops accepting signals when the store stalls, and its own limits bound
/// the rest.
final class Mailbox: Sendable {
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

    private let contents = Monitor(Contents())

    func put(_ commit: Commit) { contents.withLock { $0.commits.append(commit) } }
    func put(_ asked: Asked) { contents.withLock { $0.questions.append(asked) } }
    func close() { contents.withLock { $0.isClosing = true } }
    func abandon() { contents.withLock { $0.isAbandoned = true } }

    /// Whether the store was closed, so that nothing more will come.
    var isClosing: Bool { contents.withLock { $0.isClosing } }

    /// Takes everything that is queued.
    ///
    /// With `waiting` it waits until there is something.
    ///
    /// The flags for closing and abandoning stay set.
    func takeAll(waiting: Bool) -> Contents {
        contents.wait { contents in
            if waiting, contents.isEmpty { return nil }
            var taken = Contents(isClosing: contents.isClosing, isAbandoned: contents.isAbandoned)
            swap(&taken, &contents)
            return taken
        }
    }

    /// Takes the queued questions.
    ///
    /// Waits for one until a deadline or the end, and leaves the commits in the mailbox.
    func takeQuestions(until deadline: ContinuousClock.Instant) -> Contents {
        contents.wait(until: deadline) { contents in
            guard !contents.questions.isEmpty || contents.isClosing || contents.isAbandoned else { return nil }
            var taken = Contents(isClosing: contents.isClosing, isAbandoned: contents.isAbandoned)
            swap(&taken.questions, &contents.questions)
            return taken
        } ?? Contents()
    }
}
