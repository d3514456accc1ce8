import Glibc
import Synchronization
import Threads

/// Waits for signals on a thread of its own, so that no signal handler interrupts other code.
///
/// SIGTERM and SIGINT shut the process down in good order; each other signal runs its action.
struct SignalWatch {
    /// An action to run for a signal, or every second.
    typealias Action = @Sendable () -> Void

    private let signals: sigset_t
    private static let shared = SharedState()

    /// The state shared with ``stopForFatalSignal()``: whether the watch is waiting, and whether it has to stop.
    private final class SharedState: Sendable {
        /// The watch's thread while it waits for a signal; 0 otherwise.
        let thread = Atomic<pthread_t>(0)
        let isOver = Atomic<Bool>(false)
    }

    /// Blocks SIGTERM, SIGINT and others for this thread and all threads that it starts.
    init(alsoWatching others: [Int32] = []) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT] + others { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signals = set
        // Initializes the static variable now; a signal handler must not be the first to do so.
        Self.shared.isOver.store(false, ordering: .relaxed)
    }

    /// Makes the watch take no further signal; called from a handler of a fatal signal.
    ///
    /// While `sigtimedwait` waits for a signal, the system counts that signal as unblocked. Swift's handler stops each
    /// thread by a signal that the thread does not block. Without this function, the handler would send SIGUSR1 to the
    /// watch's thread, and the watch would take that as a request to log more. Swift would try this 16 times, for 2 s
    /// each.
    static func stopForFatalSignal() {
        shared.isOver.store(true, ordering: .sequentiallyConsistent)
        // The watch's thread stores its id and then checks the flag before it waits. So either that thread sees the
        // flag, or its id is seen here.
        for _ in 0..<100 {
            let thread = shared.thread.load(ordering: .sequentiallyConsistent)
            guard thread != 0, thread != pthread_self() else { return }
            pthread_kill(thread, SIGUSR1)
            usleep(1_000)
        }
    }

    /// Whether SIGTERM or SIGINT is pending and the watch has not taken it.
    ///
    /// In that case the process must end before it serves.
    static var hasPending: Bool {
        var set = sigset_t()
        sigpending(&set)
        return sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1
    }

    /// Starts the watch, which calls `stop` at the first SIGTERM or SIGINT.
    ///
    /// After that a second SIGINT (Ctrl-C) ends the process immediately, and a second SIGTERM has no effect.
    ///
    /// - Parameters:
    ///   - actions: the actions of other signals, run each time that the signal comes.
    ///   - tick: an action to run every second until shutdown begins.
    ///   - watch: an action to run every second, also during the shutdown.
    ///   - stop: starts the shutdown in good order.
    func start(
        on actions: [Int32: Action] = [:],
        everySecond tick: Action? = nil,
        watching watch: Action? = nil,
        _ stop: @escaping Action
    ) {
        let wait = Wait(signals: signals, actions: actions, tick: tick, watch: watch, stop: stop)
        do throws(WorkThread.Refused) {
            _ = try WorkThread(named: "signals") { wait.run() }
        } catch {
            // Without the watch there is no shutdown in good order, and while blocked these signals could not end the
            // process.
            var set = signals
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
        }
    }

    /// The signals to wait for, and the actions to run.
    private struct Wait: Sendable {
        private let signals: sigset_t
        private let actions: [Int32: Action]
        private let tick: Action?
        private let watch: Action?
        private let stop: Action

        init(
            signals: sigset_t,
            actions: [Int32: Action],
            tick: Action?,
            watch: Action?,
            stop: @escaping Action
        ) {
            self.signals = signals
            self.actions = actions
            self.tick = tick
            self.watch = watch
            self.stop = stop
        }

        func run() {
            var isEnding = false
            while true {
                guard let signal = next() else {
                    if !isEnding { tick?() }
                    watch?()
                    continue
                }
                if let action = actions[signal] {
                    action()
                } else if !isEnding {
                    isEnding = true
                    stop()
                } else if signal == SIGINT {
                    LogWriter.waitUntilWritten(limitMilliseconds: 200)
                    exit(130)
                }
            }
        }

        /// Returns the next signal; `nil` if a second passed without one.
        private func next() -> Int32? {
            let standing = SignalWatch.shared
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
