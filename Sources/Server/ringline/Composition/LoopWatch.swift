import Gateway
import Glibc
import ServerLog
import Synchronization
import Threads

/// Watches all loops of the process from the thread that handles signals: pings the service manager as long as every
/// loop turns, and ends the process if its shutdown stalls.
///
/// Everything acknowledged is durable, so an abrupt end loses nothing.
final class LoopWatch: Sendable {
    /// Runs a closure on the thread of a loop, and returns at once.
    typealias Post = @Sendable (@escaping @Sendable () -> Void) -> Void

    /// How long a loop may be stalled after SIGTERM, in milliseconds: longer than the gateway takes to drain.
    static let silenceMilliseconds: Int64 = 8_000
    /// How long after SIGTERM the process may live, in milliseconds; less than `TimeoutStopSec` of the unit.
    static let endMilliseconds: Int64 = 15_000

    private let gateway: [Loop]
    private let clients: [Loop]
    private let manager: ServiceManager?
    private let log: ServerLog
    private let hasGatewayEnded = Atomic<Bool>(false)
    /// When SIGTERM came; 0 = it has not.
    private let stoppedAt = Atomic<Int64>(0)

    /// A loop, and its last sign of life.
    private final class Loop: Sendable {
        private let post: Post
        /// When the loop last turned, by the boot clock in milliseconds; 0 = not yet.
        private let turnedAt = Atomic<Int64>(0)
        /// Whether the loop owes a sign of life.
        ///
        /// A stalled loop is asked once, so that nothing grows.
        private let isAsked = Atomic<Bool>(false)

        init(_ post: @escaping Post) { self.post = post }

        var hasAnswered: Bool { !isAsked.load(ordering: .relaxed) && turnedAt.load(ordering: .relaxed) > 0 }

        func ask() {
            guard !isAsked.exchange(true, ordering: .relaxed) else { return }
            post { [self] in
                turnedAt.store(SystemClock.boot(), ordering: .relaxed)
                isAsked.store(false, ordering: .relaxed)
            }
        }

        /// How long the loop has given no sign of life, but no longer than since a moment.
        func silence(since moment: Int64, at now: Int64) -> Int64 {
            now - max(moment, turnedAt.load(ordering: .relaxed))
        }
    }

    /// Watches the loops of the gateway, and those of the clients that send pushes and fetch keys.
    init(_ gateway: [Post], clients: [Post], _ manager: ServiceManager?, _ log: ServerLog) {
        (self.gateway, self.clients) = (gateway.map(Loop.init), clients.map(Loop.init))
        (self.manager, self.log) = (manager, log)
    }

    /// Tells the service manager that the server serves.
    func serves() { manager?.tell("READY=1") }

    /// Notes that the shutdown has begun, and tells the service manager.
    func stops() {
        manager?.tell("STOPPING=1")
        stoppedAt.store(SystemClock.boot(), ordering: .relaxed)
    }

    /// Notes that the gateway's loops have ended in good order.
    func gatewayEnded() { hasGatewayEnded.store(true, ordering: .relaxed) }

    /// Asks all loops for a sign of life, and ends the process if one is overdue; called once a second.
    func tick() {
        let loops = gateway + clients
        if let manager, manager.wantsPings, loops.allSatisfy(\.hasAnswered) { manager.tell("WATCHDOG=1") }
        for loop in loops { loop.ask() }
        let (now, stopped) = (SystemClock.boot(), stoppedAt.load(ordering: .relaxed))
        guard stopped > 0 else { return }
        let left = hasGatewayEnded.load(ordering: .relaxed) ? clients : loops
        let isSilent = left.contains { $0.silence(since: stopped, at: now) >= Self.silenceMilliseconds }
        guard isSilent || now - stopped >= Self.endMilliseconds else { return }
        log.error(
            isSilent
                ? "an event loop is stalled: the process ends without closing its connections"
                : "the shutdown is stalled: the process ends"
        )
        LogWriter.waitUntilWritten(limitMilliseconds: 500)
        _exit(1)
    }
}
