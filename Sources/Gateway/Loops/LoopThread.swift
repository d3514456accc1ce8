import Glibc

/// A thread of a further loop, to be waited for.
struct LoopThread {
    /// What the new thread is handed, once.
    fileprivate final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private let thread: pthread_t

    /// - Returns: nil if the system gives no thread.
    init?(name: String, _ body: @escaping @Sendable () -> Void) {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        guard pthread_create(&thread, nil, ringlineFurtherLoop, start.toOpaque()) == 0 else {
            start.release()
            return nil
        }
        self.thread = thread
    }

    func join() { pthread_join(thread, nil) }
}

/// The thread's body; signals are the main thread's business.
@c private func ringlineFurtherLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<LoopThread.Start>.fromOpaque(argument).takeRetainedValue()
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, nil)
    nameThisThread(start.name)
    start.body()
    return nil
}

/// Names the calling thread, through `/proc`: `pthread_setname_np` is not imported, and a missing name harms nothing.
private func nameThisThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY)
    guard file >= 0 else { return }
    _ = Array(name.utf8.prefix(15)).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    close(file)
}
