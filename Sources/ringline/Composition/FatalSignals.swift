import Foundation

/// A fatal signal ends the process, whoever sent it.
///
/// Swift's handler prints where the process stood and returns: a real fault then faults again and dies of it, but a
/// signal that was sent by `kill` would leave the process as it was, for a supervisor that wanted it gone.
enum FatalSignals {
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT]
    /// What Swift's runtime had installed, by signal; written once, before any thread is started.
    nonisolated(unsafe) private static var earlier: [Action] = Array(repeating: Action(), count: 65)
    private typealias Action = sigaction

    /// Makes it so, after Swift's own handlers.
    static func end() {
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
        let action = earlier[Int(signal)]
        if action.sa_flags & SA_SIGINFO != 0, let handler = action.__sigaction_handler.sa_sigaction {
            handler(signal, info, context)
        }
        Glibc.signal(signal, SIG_DFL)
        raise(signal)
    }
}

@c private func ringlineFatalSignal(
    _ signal: Int32,
    _ info: UnsafeMutablePointer<siginfo_t>?,
    _ context: UnsafeMutableRawPointer?
) {
    FatalSignals.take(signal, info, context)
}
