import Glibc

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

    /// Whether one has come that the watch was not there to take: the process is to end before it has begun.
    static var hasPending: Bool {
        var set = sigset_t()
        sigpending(&set)
        return sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1
    }

    /// Calls `stop` at the first signal; a second Ctrl-C ends the process at once, a second SIGTERM changes nothing.
    func start(_ stop: @escaping @Sendable () -> Void) {
        let wait = Unmanaged.passRetained(Wait(signals: signals, stop: stop))
        var thread = pthread_t()
        guard pthread_create(&thread, nil, ringlineSignalWatch, wait.toOpaque()) == 0 else {
            wait.release()
            // Without the watch nothing could end the process in good order, and not by these signals at all.
            var set = signals
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            return
        }
        pthread_detach(thread)
    }

    /// What the thread is handed, once.
    fileprivate final class Wait: Sendable {
        private let signals: sigset_t
        private let stop: @Sendable () -> Void

        init(signals: sigset_t, stop: @escaping @Sendable () -> Void) {
            self.signals = signals
            self.stop = stop
        }

        func run() {
            var set = signals
            var signal: Int32 = 0
            sigwait(&set, &signal)
            stop()
            repeat { sigwait(&set, &signal) } while signal != SIGINT
            exit(130)
        }
    }
}

@c private func ringlineSignalWatch(_ wait: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let wait { Unmanaged<SignalWatch.Wait>.fromOpaque(wait).takeRetainedValue().run() }
    return nil
}
