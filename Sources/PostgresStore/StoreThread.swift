import CallPorts
import Threads

/// Starts one of the store's threads.
///
/// Join the thread to wait for its end. If the result is dropped, the thread is detached, and the body itself must
/// signal its completion.
@discardableResult
func run(onThread name: String, _ body: @escaping @Sendable () -> Void) throws(StoreFailure) -> WorkThread {
    do throws(WorkThread.Refused) {
        return try WorkThread(named: name, body)
    } catch {
        throw StoreFailure("The store's threads cannot be started: \(error.reason).")
    }
}
