import CallPorts
import SQLite
import Threads

/// Answers questions on its own thread and connection, so that a long question delays no commit.
///
/// It receives a question only after the changes before it were committed, so the question sees them.
final class Answerer: @unchecked Sendable {
    // `waiting`, `isClosing` and `hasEnded` are accessed only while `condition` is locked; the connection only by the
    // thread.
    private let condition = Condition()
    private var waiting: [Mailbox.Asked] = []
    private var isClosing = false
    private var hasEnded = false
    private let database: String
    private let damages: DamageLog
    private let report: @Sendable (StoreReport) -> Void

    init(
        _ folder: Folder,
        damages: DamageLog,
        report: @escaping @Sendable (StoreReport) -> Void
    ) throws(StoreFailure) {
        database = folder.database
        self.damages = damages
        self.report = report
        try SQLiteStore.run(onThread: "store questions") { self.run() }
    }

    func put(_ questions: [Mailbox.Asked]) {
        condition.lock()
        waiting += questions
        condition.unlock()
        condition.broadcast()
    }

    /// Answers the waiting questions, closes the connection and returns.
    func close() {
        condition.lock()
        isClosing = true
        condition.broadcast()
        while !hasEnded { condition.wait() }
        condition.unlock()
    }

    private func run() {
        var questions: Questions?
        while let next = takeAll() {
            for asked in next {
                do throws(SQLiteError) {
                    // The connection is opened for the first question. If that fails, the next question tries again.
                    let open = if let questions { questions } else { try connect() }
                    questions = open
                    let answer = open.answer(asked.question)
                    for damage in damages.take() { report(.damaged(damage)) }
                    report(.answered(asked.id, answer))
                } catch {
                    report(.answered(asked.id, .failed(StoreFailure(error, database: database))))
                }
            }
        }
        questions = nil
        condition.lock()
        hasEnded = true
        condition.broadcast()
        condition.unlock()
    }

    private func connect() throws(SQLiteError) -> Questions {
        let connection = try Connection(.file(path: database, .readWrite))
        try connection.pragma("query_only", "ON")
        try connection.pragma("temp_store", "MEMORY")
        return Questions(connection: connection, database: database, damages: damages)
    }

    /// Returns the waiting questions; `nil` when there are none and no more will come.
    private func takeAll() -> [Mailbox.Asked]? {
        condition.lock()
        defer { condition.unlock() }
        while waiting.isEmpty {
            if isClosing { return nil }
            condition.wait()
        }
        defer { waiting = [] }
        return waiting
    }
}
