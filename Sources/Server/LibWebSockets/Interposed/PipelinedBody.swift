internal import CLibwebsockets
internal import Glibc

/// A workaround for request bodies that are pipelined after another request.
///
/// When the library takes a request from its buffer, `lws_http_action` reads the body from the start of that buffer.
/// The request's own first line is still there, because the parsed bytes are removed only later. If the buffer is
/// reported as empty at that moment, `lws_http_action` returns to its caller, which continues at the right place.
enum PipelinedBody {
    /// Whether the next query of a buffer's length must report the buffer as empty.
    ///
    /// Set it on the event loop's thread, as the last step of a callback after which the library makes that query.
    static var isNext: Bool {
        get { pthread_getspecific(key) != nil }
        set { pthread_setspecific(key, newValue ? UnsafeRawPointer(bitPattern: 1) : nil) }
    }

    // The flag is thread-local, because one process may run several servers. It is read at every query, so it is a
    // pthread key, which needs no lock.
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
