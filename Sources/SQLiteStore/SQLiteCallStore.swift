public import CallCore
public import Switchboard

/// Calls, devices and blocks in one SQLite database, `ringline.sqlite`, in a data folder.
///
/// A thread of its own writes; what it reports as committed outlives a power cut (WAL, `synchronous=FULL`). Questions
/// are answered from a second thread. One server holds the folder at a time; ``StoreReader`` needs no leave to read.
public final class SQLiteCallStore: CallStore {
    private let writer: Writer

    /// A store in a data folder, which is made if it is missing; nothing is touched before ``open(at:)``.
    /// - Parameters:
    ///   - folder: The folder's path.
    ///   - patience: What ``open(at:)`` does while another server holds the folder; without it, it throws at once.
    ///   - report: Told what becomes of commits and questions, from the store's threads; it must not wait for the store.
    public convenience init(
        folder: String,
        patience: Patience = Patience(),
        report: @escaping @Sendable (StoreReport) -> Void
    ) {
        self.init(folder: folder, patience: patience, faults: nil, report: report)
    }

    /// A store whose disk can be made to fill up.
    package init(
        folder: String,
        patience: Patience = Patience(),
        faults: Faults?,
        report: @escaping @Sendable (StoreReport) -> Void
    ) {
        writer = Writer(folder: Folder(path: folder), patience: patience, faults: faults, report: report)
    }

    deinit {
        writer.mailbox.abandon()
        writer.joinIfStarted()
    }

    /// Opens the store; see `CallStore.open(at:)`.
    public func open(at now: Moment) throws(StoreFailure) -> StoredState { try writer.start(at: now) }

    /// Queues changes; see `CallStore.commit(_:as:)`.
    ///
    /// After ``close()`` they are lost.
    /// - Returns: `false`: the disk takes its time.
    @discardableResult
    public func commit(_ changes: [Change], as ticket: Ticket) -> Bool {
        writer.mailbox.put(Mailbox.Commit(changes: changes, ticket: ticket))
        return false
    }

    /// Queues a question; see `CallStore.ask(_:as:)`.
    ///
    /// While the store is stalled it fails.
    public func ask(_ question: Question, as id: QuestionID) {
        writer.mailbox.put(Mailbox.Asked(question: question, id: id))
    }

    /// Commits what is queued and lets go of the folder.
    ///
    /// A stalled store tries once more, and then gives up.
    public func close() {
        writer.mailbox.close()
        writer.joinIfStarted()
    }
}
