internal import CLibwebsockets
internal import Glibc

/// A workaround for request bodies that are pipelined behind another request.
///
/// When a request comes from the library's buffer, `lws_http_action` begins to read its body at the beginning of that
/// buffer, which is the request's own first line, because the parsed bytes are removed only later. If the buffer is
/// reported as empty at that one moment, the function returns to its caller instead, which continues at the right
/// place.
enum PipelinedBody {
    /// Whether the next query of the buffer's length must report it as empty.
    ///
    /// It is set on the event loop's thread, as the last step of the callback after which the library makes that query.
    static var isNext: Bool {
        get { pthread_getspecific(key) != nil }
        set { pthread_setspecific(key, newValue ? UnsafeRawPointer(bitPattern: 1) : nil) }
    }

    // Thread-local, since one process may run several servers. It is checked at every read, so it is a pthread key
    // without a lock.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    typealias Function =
        @convention(c) (
            UnsafeMutablePointer<OpaquePointer?>?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
        ) -> Int

    /// The library's original function (`dlsym` with RTLD_NEXT, which is -1).
    static let original: Function? = {
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "lws_buflist_next_segment_len")
            .map { unsafeBitCast($0, to: Function.self) }
    }()
}

/// Replaces the library's function of the same name, see `PipelinedBody`.
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
    // Nearly always nothing is buffered.
    guard list?.pointee != nil else {
        bytes?.pointee = nil
        return 0
    }
    return PipelinedBody.original?(list, bytes) ?? 0
}
