import Glibc
import Switchboard

/// One of the store's own threads (`pthread_create`), which nobody joins: who has to wait for its end is told by its body.
///
/// Not Foundation's `Thread`, which would bring 46 MB of ICU into the binary.
enum StoreThread {
    /// Runs `body` on a new thread, which goes by `name`, 15 bytes at most, in `top -H` and in a debugger.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(StoreFailure) {
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        let failure = pthread_create(&thread, nil, storeThreadMain, work.toOpaque())
        guard failure == 0 else {
            work.release()
            throw StoreFailure("The store's threads cannot be started: \(String(cString: strerror(failure))).")
        }
        pthread_detach(thread)
    }

    /// What the new thread is handed, once.
    fileprivate final class Work: Sendable {
        private let name: String
        private let body: @Sendable () -> Void

        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            // `pthread_setname_np` is not imported, and a missing name harms nothing.
            let file = open("/proc/thread-self/comm", O_WRONLY)
            if file >= 0 {
                _ = Array(name.utf8).withUnsafeBytes { write(file, $0.baseAddress, min($0.count, 15)) }
                close(file)
            }
            body()
        }
    }
}

/// The thread's body.
@c(ringline_store_thread_main)
func storeThreadMain(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let work { Unmanaged<StoreThread.Work>.fromOpaque(work).takeRetainedValue().run() }
    return nil
}
