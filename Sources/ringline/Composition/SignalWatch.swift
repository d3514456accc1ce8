import Foundation

/// Waits for SIGTERM and SIGINT on a thread of its own, so that no handler runs in the middle of anything.
struct SignalWatch {
    private let signals: sigset_t

    /// Blocks the signals for this thread and all that it starts.
    init() {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        sigaddset(&set, SIGINT)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signals = set
    }

    /// Calls `stop` at the first signal; a second Ctrl-C ends the process at once, a second SIGTERM changes nothing.
    func start(_ stop: @escaping @Sendable () -> Void) {
        let signals = signals
        Thread.detachNewThread {
            var set = signals
            var signal: Int32 = 0
            sigwait(&set, &signal)
            stop()
            repeat { sigwait(&set, &signal) } while signal != SIGINT
            exit(130)
        }
    }
}
