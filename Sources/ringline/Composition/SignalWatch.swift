import Glibc
import Threads

/// Waits for signals on a thread of its own, so that no handler runs in the middle of anything.
///
/// SIGTERM and SIGINT end the process in good order; others do what they are given.
struct SignalWatch {
    /// What is done when a signal comes, or a second has gone by.
    typealias Action = @Sendable () -> Void

    private let signals: sigset_t

    /// Blocks SIGTERM, SIGINT and others for this thread and all that it starts.
    init(and others: [Int32] = []) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in [SIGTERM, SIGINT] + others { sigaddset(&set, signal) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signals = set
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
                    exit(130)
                }
            }
        }

        /// The next signal; `nil` when a second has gone by without one.
        private func next() -> Int32? {
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
