package import CallPorts
import Threads

/// The thread of a store that writes: its start, its end, and the result of the opening.
package final class WriterThread<Opened: Sendable>: Sendable {
    /// The threads of the store; this one is among them.
    package let threads = StoreThreads()

    private struct State {
        /// The result of the opening, until it is taken.
        var opened: Result<Opened, StoreFailure>?
        var isRunning = false
    }

    private let state = Monitor(State())

    /// Creates a thread that is not started yet.
    package init() {}

    /// Starts the thread and waits until its work has opened the database, or has failed.
    ///
    /// `work`: Calls `opened` once with what it has read, and then serves requests until the store is closed or dropped.
    package func start(
        named name: String = "store writer",
        _ work: @escaping @Sendable (_ opened: (Opened) -> Void) throws(StoreFailure) -> Void
    ) throws(StoreFailure) -> Opened {
        try state.withLock { state throws(StoreFailure) in
            try threads.run(named: name) { self.run(work) }
            state.isRunning = true
        }
        return try state.wait { $0.opened.take() }.get()
    }

    /// Waits until the thread, if it was started, has released everything.
    ///
    /// On the store's own threads this function returns immediately: such a thread ends by itself after its current
    /// report.
    package func joinIfStarted() {
        guard !threads.includeCurrent else { return }
        state.wait { $0.isRunning ? nil : () }
    }

    private func run(_ work: (_ opened: (Opened) -> Void) throws(StoreFailure) -> Void) {
        do throws(StoreFailure) {
            try work { opened in state.withLock { $0.opened = .success(opened) } }
        } catch {
            state.withLock { $0.opened = .failure(error) }
        }
        state.withLock { $0.isRunning = false }
    }
}
