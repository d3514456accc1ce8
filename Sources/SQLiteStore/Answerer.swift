import SQLite
import Switchboard
import Threads

/// Answers questions on a thread and a connection of its own, so that a long one delays no commit.
///
/// A question is handed over once the changes before it are committed, and so sees them.
final class Answerer: @unchecked Sendable {
    // `waiting`, `isClosing` and `hasEnded` are touched with `condition` locked; the connection by the thread alone.
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

    /// Answers what is waiting, closes the connection and returns.
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
                    // Opened at the first question; a failure is tried again at the next.
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

    /// What is waiting; `nil` when nothing is and nothing will be.
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
