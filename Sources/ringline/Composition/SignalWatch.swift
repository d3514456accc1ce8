import Glibc
import Synchronization
import Threads

/// Waits for signals on a thread of its own, so that no handler runs in the middle of anything.
///
/// SIGTERM and SIGINT end the process in good order; others do what they are given.
struct SignalWatch {
    /// What is done when a signal comes, or a second has gone by.
    typealias Action = @Sendable () -> Void

    private let signals: sigset_t
    private static let standing = Standing()

    /// Whether the watch takes signals, and whether it still may.
    private final class Standing: Sendable {
        /// The watch's thread while it waits for a signal, else 0.
        let thread = Atomic<pthread_t>(0)
        let isOver = Atomic<Bool>(false)
    }

    /// Blocks SIGTERM, SIGINT and others for this thread and all that it starts.
    init(and others: [Int32] = []) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT] + others { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signals = set
        // Touched here, so that no signal handler is the first to initialize it.
        Self.standing.isOver.store(false, ordering: .relaxed)
    }

    /// Has the watch take no further signal; from a handler of a fatal one.
    ///
    /// While `sigtimedwait` waits for a signal the system counts it as unblocked. Swift's handler stops a thread by one of the
    /// signals that it does not block: it sent SIGUSR1, the watch took it for the wish to log more, and Swift tried 16 times
    /// for 2 s each.
    static func stepAside() {
        standing.isOver.store(true, ordering: .sequentiallyConsistent)
        // The watch's thread looks again before it waits, so either it sees the flag or it is seen here.
        for _ in 0..<100 {
            let thread = standing.thread.load(ordering: .sequentiallyConsistent)
            guard thread != 0, thread != pthread_self() else { return }
            pthread_kill(thread, SIGUSR1)
            usleep(1_000)
        }
    }

    /// Whether one has come that the watch was not there to take: the process is to end before it has begun.
    static var hasPending: Bool {
        var set = sigset_t()
        sigpending(&set)
        return sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1
    }

    /// Calls `stop` at the first signal to end; a second Ctrl-C ends the process at once, a second SIGTERM changes nothing.
    ///
    /// - Parameters:
    ///   - actions: what the other signals do, each as often as it comes.
    ///   - tick: what is done every second meanwhile.
    ///   - stop: what ends the process in good order.
    func start(on actions: [Int32: Action] = [:], everySecond tick: Action? = nil, _ stop: @escaping Action) {
        let wait = Wait(signals: signals, actions: actions, tick: tick, stop: stop)
        do throws(WorkThread.Refused) {
            _ = try WorkThread(named: "signals") { wait.run() }
        } catch {
            // Without the watch nothing could end the process in good order, and not by these signals at all.
            var set = signals
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
        }
    }

    /// What the thread waits for, and what it does then.
    private struct Wait: Sendable {
        private let signals: sigset_t
        private let actions: [Int32: Action]
        private let tick: Action?
        private let stop: Action

        init(signals: sigset_t, actions: [Int32: Action], tick: Action?, stop: @escaping Action) {
            self.signals = signals
            self.actions = actions
            self.tick = tick
            self.stop = stop
        }

        func run() {
            var isEnding = false
            while true {
                guard let signal = next() else {
                    if !isEnding { tick?() }
                    continue
                }
                if let action = actions[signal] {
                    action()
                } else if !isEnding {
                    isEnding = true
                    stop()
                } else if signal == SIGINT {
                    LogWriter.settle(milliseconds: 200)
                    exit(130)
                }
            }
        }

        /// The next signal; `nil` when a second has gone by without one.
        private func next() -> Int32? {
            let standing = SignalWatch.standing
            standing.thread.store(pthread_self(), ordering: .sequentiallyConsistent)
            let signal = standing.isOver.load(ordering: .sequentiallyConsistent) ? nil : wait()
            standing.thread.store(0, ordering: .sequentiallyConsistent)
            // The process is dying of a fatal signal.
            while standing.isOver.load(ordering: .sequentiallyConsistent) { pause() }
            return signal
        }

        private func wait() -> Int32? {
            var set = signals
            guard tick != nil else {
                var signal: Int32 = 0
                sigwait(&set, &signal)
                return signal
            }
            var limit = timespec(tv_sec: 1, tv_nsec: 0)
            let signal = sigtimedwait(&set, nil, &limit)
            return signal > 0 ? signal : nil
        }
    }
}
