import CallPorts
import Threads

/// Runs one of the store's own threads.
///
/// It is detached; the body itself must signal its completion.
func run(onThread name: String, _ body: @escaping @Sendable () -> Void) throws(StoreFailure) {
    do throws(WorkThread.Refused) {
        _ = try WorkThread(named: name, body)
    } catch {
        throw StoreFailure("The store's threads cannot be started: \(error.reason).")
    }
}
