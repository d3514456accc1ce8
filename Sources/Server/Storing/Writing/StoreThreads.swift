package import CallPorts
import Glibc
package import Threads

/// The threads of one store.
///
/// A report may release the store on one of these threads. The store must not wait there for the end of its threads.
package final class StoreThreads: Sendable {
    private let running = Monitor<[pthread_t]>([])

    /// Creates an empty set of threads.
    package init() {}

    /// Whether the calling thread is one of the store's threads.
    package var includeCurrent: Bool {
        let current = pthread_self()
        return running.withLock { $0.contains { pthread_equal($0, current) != 0 } }
    }

    /// Runs one more thread.
    ///
    /// Join the thread to wait for its end. If the result is dropped, the thread is detached, and the body itself must
    /// signal its completion.
    @discardableResult
    package func run(named name: String, _ body: @escaping @Sendable () -> Void) throws(StoreFailure) -> WorkThread {
        do throws(WorkThread.Refused) {
            return try WorkThread(named: name) { [running] in
                let current = pthread_self()
                running.withLock { $0.append(current) }
                defer { running.withLock { $0.removeAll { pthread_equal($0, current) != 0 } } }
                body()
            }
        } catch {
            throw StoreFailure("The store's threads cannot be started: \(error.reason).")
        }
    }
}
