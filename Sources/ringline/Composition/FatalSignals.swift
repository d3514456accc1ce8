import Glibc
import Synchronization

/// A fatal signal ends the process, whoever sent it.
///
/// Swift's handler prints where the process stood and returns: a real fault then faults again and dies of it, but a
/// signal that was sent by `kill` would leave the process as it was, for a supervisor that wanted it gone.
///
/// Where the Swift toolchain is installed, Swift's handler stops all other threads by signals and has a second program write
/// the backtrace. It must not take long: until the process is gone its sockets hang, and no other server gets its folder.
enum FatalSignals {
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT]
    /// What Swift's runtime had installed, by signal; written once, before any thread is started.
    nonisolated(unsafe) private static var earlier: [Action] = Array(repeating: Action(), count: 65)
    private typealias Action = sigaction

    /// How long Swift's handler may take, in microseconds: it takes 0.1 s on an idle machine, and is cut off after this.
    private static let backtraceMicroseconds = 1_000_000
    /// The signal that ended it.
    private static let fatal = Atomic<Int32>(0)

    /// Makes it so, after Swift's own handlers.
    static func end() {
        // Touched here, so that no handler is the first to initialize it.
        fatal.store(0, ordering: .relaxed)
        for signal in signals {
            sigaction(signal, nil, &earlier[Int(signal)])
            var action = Action()
            action.__sigaction_handler.sa_sigaction = ringlineFatalSignal
            action.sa_flags = SA_SIGINFO | SA_ONSTACK | Int32(bitPattern: UInt32(SA_NODEFER))
            sigaction(signal, &action, nil)
        }
    }

    /// Lets Swift say what it has to say, and then dies of the signal.
    fileprivate static func take(
        _ signal: Int32,
        _ info: UnsafeMutablePointer<siginfo_t>?,
        _ context: UnsafeMutableRawPointer?
    ) {
        let isFirst = fatal.compareExchange(expected: 0, desired: signal, ordering: .relaxed).exchanged
        if isFirst {
            SignalWatch.stepAside()
            limitBacktrace()
        }
        let action = earlier[Int(signal)]
        // The log's thread runs on meanwhile; the lines before a crash are those that explain it.
        LogWriter.settle(milliseconds: 200)
        if action.sa_flags & SA_SIGINFO != 0, let handler = action.__sigaction_handler.sa_sigaction {
            handler(signal, info, context)
        }
        die(of: signal)
    }

    /// Ends the process by its signal if the backtrace takes too long (`setitimer`).
    private static func limitBacktrace() {
        var alarm = Action()
        alarm.__sigaction_handler.sa_handler = ringlineBacktraceTooSlow
        sigaction(SIGALRM, &alarm, nil)
        // Other threads of ours block all signals, and those that Swift has stopped block this one.
        unblock(SIGALRM)
        var limit = itimerval()
        limit.it_value.tv_sec = time_t(backtraceMicroseconds / 1_000_000)
        limit.it_value.tv_usec = suseconds_t(backtraceMicroseconds % 1_000_000)
        setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &limit, nil)
    }

    fileprivate static func dieOfTheFirst() { die(of: fatal.load(ordering: .relaxed)) }

    private static func die(of signal: Int32) {
        Glibc.signal(signal, SIG_DFL)
        unblock(signal)
        raise(signal)
    }

    private static func unblock(_ signal: Int32) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, signal)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }
}

@c private func ringlineBacktraceTooSlow(_ signal: Int32) { FatalSignals.dieOfTheFirst() }

@c private func ringlineFatalSignal(
    _ signal: Int32,
    _ info: UnsafeMutablePointer<siginfo_t>?,
    _ context: UnsafeMutableRawPointer?
) {
    FatalSignals.take(signal, info, context)
}
