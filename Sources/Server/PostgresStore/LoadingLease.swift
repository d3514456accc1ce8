import CallPorts
import Postgres
import Storing
import Threads

/// Renews the lease of a server that has claimed the database and still reads its state, which may be large.
///
/// It uses a thread and a connection of its own. The connection's commits wait for no standby, so a renewal never holds
/// the lock on the row for long.
final class LoadingLease: Sendable {
    private let isOver = Monitor(false)
    /// Interrupts waits for the database.
    private let wakeUp = WakeUp()

    /// Begins to renew the lease, at once: a claim that waited for a standby becomes visible when much of its lease has
    /// passed.
    ///
    /// `renewal`: The statement that renews the lease and returns a row (``OwnerTable/renewal(_:)``).
    init(
        _ options: StoreOptions,
        renewal: Connection.Step,
        on threads: StoreThreads
    ) throws(StoreFailure) {
        let (isOver, wakeUp) = (isOver, wakeUp)
        try threads.run(named: "loading lease") {
            let connection = RegisterConnection(options, wakeUp)
            func isOverBeforeRenewal() -> Bool {
                isOver.wait(until: .now + .milliseconds(options.leaseMilliseconds / 3)) { $0 ? true : nil } ?? false
            }
            var isReported = false
            repeat {
                // If this fails for as long as the lease lasts, another server may claim the database.
                do throws(StoreFailure) {
                    let row = try connection.run { link throws(PostgresError) in try link.run([renewal])[0].first }
                    if row == nil { throw StoreFailure("another server owns the calls, or this one has released them") }
                } catch {
                    if !isReported, !isOver.withLock({ $0 }) {
                        isReported = true
                        options.ownerWait.onMissedRenewal(error.message)
                    }
                }
            } while !isOverBeforeRenewal()
        }
    }

    /// Ends the renewals, without waiting for one that is under way.
    func end() {
        isOver.withLock { $0 = true }
        wakeUp.signal()
    }
}
