import CallCore
import CallPorts
import RecordCoding
import SQLite
import Threads

/// The thread that writes: it opens the database, commits the contents of the queue, and closes the database.
///
/// Everything that is queued when a transaction begins goes into that transaction (group commit). Under load, one
/// `fsync` serves many commits.
final class Writer: Sendable {
    let queue = WriterQueue()

    private let threads = StoreThreads()

    private let folder: DataFolder
    private let faults: Faults?
    private let lockWait: LockWait
    private let report: @Sendable (StoreReport) -> Void

    private struct State {
        /// The result of the opening, until it is taken.
        var opened: Result<StoredState, StoreFailure>?
        var isRunning = false
    }

    private let state = Monitor(State())

    init(
        folder: DataFolder,
        lockWait: LockWait,
        faults: Faults?,
        report: @escaping @Sendable (StoreReport) -> Void
    ) {
        self.folder = folder
        self.lockWait = lockWait
        self.faults = faults
        self.report = report
    }

    /// Starts the thread and waits until the thread has opened the database.
    func start(at now: Moment) throws(StoreFailure) -> StoredState {
        try state.withLock { state throws(StoreFailure) in
            try threads.run(named: "store writer") { self.run(at: now) }
            state.isRunning = true
        }
        return try state.wait { $0.opened.take() }.get()
    }

    /// Waits until the thread, if it was started, has released everything.
    ///
    /// On the store's own threads this function returns immediately: such a thread ends by itself after its current
    /// report.
    func joinIfStarted() {
        guard !threads.includeCurrent else { return }
        state.wait { $0.isRunning ? nil : () }
    }

    private func run(at now: Moment) {
        do throws(StoreFailure) {
            let lock = try folder.take(lockWait)
            try work(at: now)
            // The lock is released only here, after the connections were closed.
            withExtendedLifetime(lock) {}
        } catch {
            state.withLock { $0.opened = .failure(error) }
        }
        state.withLock { $0.isRunning = false }
    }

    /// Opens the database and serves the queue; the database is closed when this returns.
    private func work(at now: Moment) throws(StoreFailure) {
        let connection = try WriterConnection(folder: folder, faults: faults, threads: threads, report: report)
        let stored = try connection.begin(at: now)
        state.withLock { $0.opened = .success(stored) }
        connection.serve(queue)
    }
}
