import CallCore
import CallPorts
import SQLite
import Threads

/// The thread that writes: it opens the database, commits what is queued in the mailbox, and closes the database.
///
/// Everything that is queued when a transaction begins goes into that transaction (group commit). Under load, one
/// `fsync` serves many commits.
final class Writer: @unchecked Sendable {
    let mailbox = Mailbox()

    private let folder: Folder
    private let faults: Faults?
    private let patience: Patience
    private let report: @Sendable (StoreReport) -> Void

    // Accessed only while `condition` is locked: the result of the opening, and whether the thread has started and
    // ended.
    private let condition = Condition()
    private var opened: Result<StoredState, StoreFailure>?
    private var hasStarted = false
    private var hasEnded = false

    init(
        folder: Folder,
        patience: Patience,
        faults: Faults?,
        report: @escaping @Sendable (StoreReport) -> Void
    ) {
        self.folder = folder
        self.patience = patience
        self.faults = faults
        self.report = report
    }

    /// Starts the thread and waits until it has opened the database.
    func start(at now: Moment) throws(StoreFailure) -> StoredState {
        condition.lock()
        defer { condition.unlock() }
        try SQLiteStore.run(onThread: "store writer") { self.run(at: now) }
        hasStarted = true
        while true {
            if let opened { return try opened.get() }
            condition.wait()
        }
    }

    /// Waits until the thread, if it was started, has released everything.
    func joinIfStarted() {
        condition.lock()
        while hasStarted, !hasEnded { condition.wait() }
        condition.unlock()
    }

    private func run(at now: Moment) {
        do throws(StoreFailure) {
            let lock = try folder.take(patience)
            try work(at: now)
            // The lock is released only here, after the connections were closed.
            withExtendedLifetime(lock) {}
        } catch {
            tell { $0.opened = .failure(error) }
        }
        tell { $0.hasEnded = true }
    }

    /// Opens the database and serves the mailbox; the database is closed when this returns.
    private func work(at now: Moment) throws(StoreFailure) {
        let session = try Session(folder: folder, faults: faults, report: report)
        let state = try session.begin(at: now)
        tell { $0.opened = .success(state) }
        session.serve(mailbox)
    }

    private func tell(_ body: (Writer) -> Void) {
        condition.lock()
        body(self)
        condition.broadcast()
        condition.unlock()
    }
}
