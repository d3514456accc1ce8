import CallCore
import CallPorts
import Storing

/// The thread that writes: it opens the database, commits the contents of the queue, and closes the database.
///
/// Everything that is queued when a transaction begins goes into that transaction (group commit). Under load, one
/// `fsync` serves many commits.
final class Writer: Sendable {
    let queue = WriterQueue()

    private let thread = WriterThread<StoredState>()
    private let folder: DataFolder
    private let faults: InjectedFaults?
    private let lockWait: LockWait
    private let report: @Sendable (StoreReport) -> Void

    init(
        folder: DataFolder,
        lockWait: LockWait,
        faults: InjectedFaults?,
        report: @escaping @Sendable (StoreReport) -> Void
    ) {
        self.folder = folder
        self.lockWait = lockWait
        self.faults = faults
        self.report = report
    }

    /// Starts the thread and waits until the thread has opened the database.
    func start(at now: Moment) throws(StoreFailure) -> StoredState {
        try thread.start { opened throws(StoreFailure) in
            let lock = try self.folder.take(self.lockWait)
            try self.work(at: now, opened)
            // The lock is released only here, after the connections were closed.
            withExtendedLifetime(lock) {}
        }
    }

    /// Waits until the thread, if it was started, has released everything; see `WriterThread.joinIfStarted()`.
    func joinIfStarted() { thread.joinIfStarted() }

    /// Opens the database and serves the queue; the database is closed when this returns.
    private func work(at now: Moment, _ opened: (StoredState) -> Void) throws(StoreFailure) {
        let connection = try WriterConnection(folder: folder, faults: faults, threads: thread.threads, report: report)
        opened(try connection.begin(at: now))
        connection.serve(queue)
    }
}
