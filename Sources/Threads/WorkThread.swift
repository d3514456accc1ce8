internal import Glibc

/// A thread of the system's for one piece of work (`pthread_create`); to be waited for, or dropped and left to itself.
///
/// Not Foundation's `Thread`, which would bring 46 MB of ICU into the binary.
///
/// Signals are the main thread's business, but for those of the thread's own faults: a write to a closed socket raises
/// SIGPIPE in the thread that writes.
package final class WorkThread: Sendable {
    /// The system gives no thread (`EAGAIN`: a limit on threads, or memory).
    package struct Refused: Error {
        /// The system's word for why.
        package let reason: String
    }

    /// What the new thread is handed, once.
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

    /// The thread, until somebody joined it.
    private let thread: Locked<pthread_t?>

    /// Runs `body` on a new thread, which goes by `name`, 15 bytes at most, in `top -H` and in a debugger.
    package init(named name: String, _ body: @escaping @Sendable () -> Void) throws(Refused) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let failure = pthread_create(&thread, nil, workThreadMain, start.toOpaque())
        guard failure == 0 else {
            start.release()
            throw Refused(reason: String(cString: strerror(failure)))
        }
        self.thread = Locked(thread)
    }

    deinit { if let thread = take() { pthread_detach(thread) } }

    /// Waits until the thread has ended; on the thread itself, only lets it go.
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

/// The thread's body.
@c(ringline_work_thread_main)
func workThreadMain(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let start { Unmanaged<WorkThread.Start>.fromOpaque(start).takeRetainedValue().run() }
    return nil
}

private func blockSignals() {
    var all = sigset_t()
    sigfillset(&all)
    // Blocked, these would end the process without the backtrace.
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&all, fault) }
    pthread_sigmask(SIG_SETMASK, &all, nil)
}

/// Names the calling thread, through `/proc`: `pthread_setname_np` is not imported, and a missing name harms nothing.
private func nameThisThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY)
    guard file >= 0 else { return }
    _ = Array(name.utf8.prefix(15)).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    close(file)
}
