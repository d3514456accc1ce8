internal import Glibc

/// A system thread for one piece of work (`pthread_create`); join it, or release it to let it run by itself.
///
/// Foundation's `Thread` would add 46 MB of ICU to the binary.
///
/// All Unix signals are blocked on the thread, except those of its own faults, so other threads handle them. SIGPIPE
/// matters most: a write to a closed socket raises SIGPIPE in the thread that writes.
package final class WorkThread: Sendable {
    /// The error when the system refuses to create a thread (`EAGAIN`: a limit on threads, or too little memory).
    package struct Refused: Error {
        /// The system's reason.
        package let reason: String
    }

    /// The name and the body that the new thread receives, once.
    fileprivate final class Start: Sendable {
        private let name: String
        private let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            blockSignals()
            nameThisThread(name)
            body()
        }
    }

    /// The thread; nil once it was joined or detached.
    private let thread: Monitor<pthread_t?>

    /// Runs `body` on a new thread.
    ///
    /// The thread is shown as `name`, 15 bytes at most, in `top -H` and in a debugger.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(Refused) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let failure = pthread_create(&thread, nil, workThreadMain, start.toOpaque())
        guard failure == 0 else {
            start.release()
            throw Refused(reason: String(cString: strerror(failure)))
        }
        self.thread = Monitor(thread)
    }

    deinit { if let thread = take() { pthread_detach(thread) } }

    /// Waits until the thread has ended; called on the thread itself, this function only detaches the thread.
    package func join() {
        guard let thread = take() else { return }
        if pthread_equal(thread, pthread_self()) != 0 {
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }

    private func take() -> pthread_t? {
        thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
    }
}

/// The entry point of the thread.
@c(ringline_work_thread_main)
func workThreadMain(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let start { Unmanaged<WorkThread.Start>.fromOpaque(start).takeRetainedValue().run() }
    return nil
}

private func blockSignals() {
    var all = sigset_t()
    sigfillset(&all)
    // If these signals were blocked, a fault would end the process without a backtrace.
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&all, fault) }
    pthread_sigmask(SIG_SETMASK, &all, nil)
}

/// Names the calling thread through `/proc`.
///
/// `pthread_setname_np` is not imported into Swift. Failures are ignored, because a missing name does no harm.
private func nameThisThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY)
    guard file >= 0 else { return }
    _ = Array(name.utf8.prefix(15)).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    close(file)
}
