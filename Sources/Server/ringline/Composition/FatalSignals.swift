import Glibc
import Synchronization

/// Handlers that make every fatal signal end the process, including one sent by `kill`.
///
/// Swift's own handler prints a backtrace and returns. After a real fault the instruction then faults again and the
/// process dies. After a signal sent by `kill` the process would go on, although a supervisor wanted it to end.
///
/// Where the Swift toolchain is installed, Swift's handler stops all other threads by signals and has a second program
/// write the backtrace. That must not take long: until the process has ended, its connections hang and no other server
/// can take over its data folder.
enum FatalSignals {
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT]
    /// The handlers that Swift's runtime had installed, by signal.
    ///
    /// Written once, before any thread is started.
    nonisolated(unsafe) private static var previousHandlers: [Action] = Array(repeating: Action(), count: 65)
    private typealias Action = sigaction

    /// The time limit of Swift's handler, in microseconds.
    ///
    /// The handler takes 0.1 s on an idle machine.
    private static let backtraceMicroseconds = 1_000_000
    /// The first fatal signal; 0 before it comes.
    private static let fatal = Atomic<Int32>(0)

    /// Installs the handlers.
    ///
    /// Swift's own handlers must have been installed before.
    static func installHandlers() {
        // Initializes the static variable now; a signal handler must not be the first to do so.
        fatal.store(0, ordering: .relaxed)
        for signal in signals {
            sigaction(signal, nil, &previousHandlers[Int(signal)])
            var action = Action()
            action.__sigaction_handler.sa_sigaction = ringlineFatalSignal
            action.sa_flags = SA_SIGINFO | SA_ONSTACK | Int32(bitPattern: UInt32(SA_NODEFER))
            sigaction(signal, &action, nil)
        }
    }

    /// Runs Swift's handler, which prints the backtrace, and then ends the process by the signal.
    fileprivate static func signalCaught(
        _ signal: Int32,
        _ info: UnsafeMutablePointer<siginfo_t>?,
        _ context: UnsafeMutableRawPointer?
    ) {
        let isFirst = fatal.compareExchange(expected: 0, desired: signal, ordering: .relaxed).exchanged
        if isFirst {
            SignalWatch.stopForFatalSignal()
            limitBacktrace()
        }
        let action = previousHandlers[Int(signal)]
        // The log's thread still runs here. The lines before a crash are the ones that explain it.
        LogWriter.waitUntilWritten(limitMilliseconds: 200)
        if action.sa_flags & SA_SIGINFO != 0, let handler = action.__sigaction_handler.sa_sigaction {
            handler(signal, info, context)
        }
        die(of: signal)
    }

    /// Sets a timer (`setitimer`) that ends the process by its signal if the backtrace takes too long.
    private static func limitBacktrace() {
        var alarm = Action()
        alarm.__sigaction_handler.sa_handler = ringlineBacktraceTooSlow
        sigaction(SIGALRM, &alarm, nil)
        // The server's other threads block all signals, and threads that Swift's handler has stopped block SIGALRM, so
        // this thread must receive it.
        unblock(SIGALRM)
        var limit = itimerval()
        limit.it_value.tv_sec = time_t(backtraceMicroseconds / 1_000_000)
        limit.it_value.tv_usec = suseconds_t(backtraceMicroseconds % 1_000_000)
        setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &limit, nil)
    }

    fileprivate static func dieOfFirst() { die(of: fatal.load(ordering: .relaxed)) }

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

@c private func ringlineBacktraceTooSlow(_ signal: Int32) { FatalSignals.dieOfFirst() }

@c private func ringlineFatalSignal(
    _ signal: Int32,
    _ info: UnsafeMutablePointer<siginfo_t>?,
    _ context: UnsafeMutableRawPointer?
) {
    FatalSignals.signalCaught(signal, info, context)
}
