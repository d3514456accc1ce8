import CCurl
import Glibc

/// The client's thread: runs a ``CurlLoop`` and can be waited for.
final class LoopThread: Sendable {
    /// What the new thread is handed, once.
    final class Start: Sendable {
        let mailbox: Mailbox
        let configuration: HTTPClientConfiguration

        init(mailbox: Mailbox, configuration: HTTPClientConfiguration) {
            self.mailbox = mailbox
            self.configuration = configuration
        }
    }

    /// The thread, until somebody joined it or let it go.
    private let thread: Locked<pthread_t?>

    init(mailbox: Mailbox, configuration: HTTPClientConfiguration) throws(HTTPClientError) {
        var thread = pthread_t()
        let start = Unmanaged.passRetained(Start(mailbox: mailbox, configuration: configuration))
        guard pthread_create(&thread, nil, httpLoopMain, start.toOpaque()) == 0 else {
            start.release()
            curl_multi_cleanup(mailbox.multi.pointer)
            throw .noThread
        }
        self.thread = Locked(thread)
    }

    /// Waits until the thread has ended; on the thread itself, only lets it go.
    func join() {
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let thread else { return }
        if pthread_equal(thread, pthread_self()) != 0 {
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }
}

/// The thread's body.
///
/// It blocks every signal: they are the main thread's business, and a write to a closed socket raises SIGPIPE in the
/// thread that writes (`CURLOPT_NOSIGNAL` keeps libcurl from ignoring it for us).
@c(ringline_http_loop_main)
func httpLoopMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<LoopThread.Start>.fromOpaque(argument).takeRetainedValue()
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, nil)
    nameThisThread(start.configuration.threadName)
    CurlLoop(mailbox: start.mailbox, configuration: start.configuration).run()
    return nil
}

/// Names the calling thread, through `/proc`: `pthread_setname_np` is not imported, and a missing name harms nothing.
private func nameThisThread(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY)
    guard file >= 0 else { return }
    _ = Array(name.utf8.prefix(15)).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
    close(file)
}

/// libcurl as a whole.
enum CurlLibrary {
    /// The oldest libcurl with all that we use (`CURLOPT_QUICK_EXIT`, 7.87.0).
    private static let oldest: UInt32 = 0x07_57_00

    private static let fault: String? = {
        // Thread-safe since 7.84, and here made once besides.
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else { return "it does not start" }
        guard let info = ringline_curl_version() else { return "it does not tell its version" }
        guard info.pointee.version_num >= oldest else { return "it is older than 7.87" }
        guard info.pointee.features & CURL_VERSION_HTTP2 != 0 else { return "it was built without HTTP/2" }
        guard info.pointee.features & CURL_VERSION_SSL != 0 else { return "it was built without TLS" }
        return nil
    }()

    /// Starts libcurl (`curl_global_init`), once, and looks whether it can do what is needed.
    static func ready() throws(HTTPClientError) {
        if let fault { throw .libraryUnusable(fault) }
    }
}
