internal import CLibwebsockets
internal import Glibc

/// Mends the reading of a request body that was pipelined behind another request.
///
/// When a request comes out of what the library has buffered, `lws_http_action` begins to read its body at the beginning of
/// that buffer - the request's own first line - because what was parsed is taken out only later. With the buffer said to be
/// empty at that one moment, it returns instead to the caller, which goes on at the right place.
enum PipelinedBody {
    /// Set on the loop thread as the last thing in the callback after which the library asks.
    static var isNext: Bool {
        get { pthread_getspecific(key) != nil }
        set { pthread_setspecific(key, newValue ? UnsafeRawPointer(bitPattern: 1) : nil) }
    }

    // A thread's own, since several servers may run in one process, and asked at every read: a key, no lock.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    typealias Function =
        @convention(c) (
            UnsafeMutablePointer<OpaquePointer?>?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
        ) -> Int

    /// The library's own function (`dlsym` with RTLD_NEXT, which is -1).
    static let original: Function? = {
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "lws_buflist_next_segment_len")
            .map { unsafeBitCast($0, to: Function.self) }
    }()
}

/// Stands in front of the library's function of the same name, see `PipelinedBody`.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(lws_buflist_next_segment_len)
public func clwsBufferedLength(
    _ list: UnsafeMutablePointer<OpaquePointer?>?,
    _ bytes: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
) -> Int {
    if PipelinedBody.isNext {
        PipelinedBody.isNext = false
        bytes?.pointee = nil
        return 0
    }
    // Nothing buffered, as nearly always.
    guard list?.pointee != nil else {
        bytes?.pointee = nil
        return 0
    }
    return PipelinedBody.original?(list, bytes) ?? 0
}
