import Glibc
import ServerLog
import Threads

/// Ends a start that SIGTERM or SIGINT interrupts, whatever the start waits for.
///
/// Some waits of a start look for these signals themselves and end in good order. Others cannot: a look-up of a name, a
/// database that accepts a connection and says nothing, a pipe. Nothing is served yet, and a transaction that is under
/// way is rolled back, so an abrupt end loses nothing.
final class StartWatch: Sendable {
    /// How long the start may take to end in good order, in milliseconds.
    static let graceMilliseconds: Int64 = 1_500
    private static let pause = Duration.milliseconds(50)

    private let isOver: Monitor<Bool>

    /// Begins to watch; SIGTERM and SIGINT must be blocked already.
    init(_ log: ServerLog) {
        let isOver = Monitor(false)
        self.isOver = isOver
        let ends = { @Sendable (time: Duration) in isOver.wait(until: .now + time) { $0 ? true : nil } ?? false }
        // Without a thread, a start can still be killed.
        _ = try? WorkThread(named: "start") {
            while !ends(Self.pause) {
                guard SignalWatch.hasPending, !ends(.milliseconds(Self.graceMilliseconds)) else { continue }
                log.notice("stopped")
                LogWriter.waitUntilWritten(limitMilliseconds: 200)
                _exit(0)
            }
        }
    }

    /// Ends the watch: the start has succeeded or failed, and another one handles the signals from now on.
    func end() { isOver.withLock { $0 = true } }
}
