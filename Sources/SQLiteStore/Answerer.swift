import CallPorts
import SQLite
import Threads

/// Answers questions on its own thread and connection, so that a long question delays no commit.
///
/// It receives a question only after the changes before it were committed, so the question sees them.
final class Answerer: Sendable {
    private let inbox: Inbox<Mailbox.Asked>
    private let thread: WorkThread

    init(
        _ folder: Folder,
        damages: DamageLog,
        report: @escaping @Sendable (StoreReport) -> Void
    ) throws(StoreFailure) {
        let work = Work(database: folder.database, damages: damages, report: report)
        inbox = work.inbox
        thread = try SQLiteStore.run(onThread: "store questions") { work.run() }
    }

    func put(_ questions: [Mailbox.Asked]) { for asked in questions { inbox.put(asked) } }

    /// Answers the waiting questions, closes the connection and returns.
    func close() {
        inbox.close()
        thread.join()
    }

    /// The work of the thread.
    private struct Work: Sendable {
        let inbox = Inbox<Mailbox.Asked>()
        let database: String
        let damages: DamageLog
        let report: @Sendable (StoreReport) -> Void

        func run() {
            var questions: Questions?
            while let next = inbox.takeAll() {
                for asked in next.elements {
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
        }

        private func connect() throws(SQLiteError) -> Questions {
            let connection = try Connection(.file(path: database, .readWrite))
            try connection.pragma("query_only", "ON")
            try connection.pragma("temp_store", "MEMORY")
            return Questions(connection: connection, database: database, damages: damages)
        }
    }
}
