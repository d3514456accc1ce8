import CallCore
import SQLite
import Switchboard
import Threads

/// The thread that writes: it opens the database, commits what gathers in the mailbox, and closes.
///
/// All that is queued when a transaction begins goes into it (group commit): under load one `fsync` pays for many.
final class Writer: @unchecked Sendable {
    let mailbox = Mailbox()

    private let folder: Folder
    private let faults: Faults?
    private let patience: Patience
    private let report: @Sendable (StoreReport) -> Void

    // Touched with `condition` locked: how the opening went, and whether the thread has ended.
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

    /// Waits until the thread, if there is one, has let go of everything.
    func joinIfStarted() {
        condition.lock()
        while hasStarted, !hasEnded { condition.wait() }
        condition.unlock()
    }

    private func run(at now: Moment) {
        do throws(StoreFailure) {
            let lock = try folder.take(patience)
            try work(at: now)
            // Let go of only now that the connections are closed.
            withExtendedLifetime(lock) {}
        } catch {
            tell { $0.opened = .failure(error) }
        }
        tell { $0.hasEnded = true }
    }

    /// The database is open no longer than this runs.
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
