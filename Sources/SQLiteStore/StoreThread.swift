import CallPorts
import Threads

/// Runs one of the store's own threads.
///
/// Join the thread to wait for its end. If the result is dropped it is detached, and the body itself must signal its
/// completion.
@discardableResult
func run(onThread name: String, _ body: @escaping @Sendable () -> Void) throws(StoreFailure) -> WorkThread {
    do throws(WorkThread.Refused) {
        return try WorkThread(named: name, body)
    } catch {
        throw StoreFailure("The store's threads cannot be started: \(error.reason).")
    }
}
