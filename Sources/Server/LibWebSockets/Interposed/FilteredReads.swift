internal import CLibwebsockets
internal import Glibc

/// The library's reads from connections whose requests go through a ``RequestFilter``.
///
/// The library reads with `recv` and `SSL_read`, which the functions below replace. If a future library is linked so
/// that its calls do not reach them, requests are read as the library reads them: it folds and decodes paths, ends the
/// connection at a large head without a response, and cuts a text at an escaped NUL. Tests would fail then.
enum FilteredReads {
    /// Whether the library reads through the functions below.
    ///
    /// It does not in a test bundle, where the C library's own `recv` comes first.
    static let areInterposed: Bool = {
        let own: @convention(c) (Int32, UnsafeMutableRawPointer?, Int, Int32) -> Int = clwsReceive
        return dlsym(nil, "recv") == unsafeBitCast(own, to: UnsafeMutableRawPointer.self)
    }()

    /// The largest descriptor of a connection, which is also the kernel's usual limit.
    static let mostDescriptors: Int32 = 1 << 20

    /// For each descriptor, the number of filtered connections without TLS.
    ///
    /// All threads change it atomically. It is more than 1 for a moment when another thread reuses the descriptor of a
    /// connection that is just being closed.
    private nonisolated(unsafe) static let counts = calloc(Int(mostDescriptors), 1)?.assumingMemoryBound(to: UInt8.self)

    /// The place of a descriptor in OpenSSL's sessions: 0 unless the session is that of a filtered connection.
    private static let place = clws_new_ssl_place()

    /// The server whose loop runs on this thread.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// Sets the server whose loop runs on this thread; `nil` at the loop's end.
    static func setServer(_ server: Server?) {
        pthread_setspecific(key, server.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
    }

    static func startCounting(on socket: Int32) { clws_count(counts.map { $0 + Int(socket) }, 1) }

    static func end(on socket: Int32) { clws_count(counts.map { $0 + Int(socket) }, -1) }

    /// Begins or ends the filtering of a connection with TLS.
    static func set(_ isFiltered: Bool, _ wsi: OpaquePointer, on socket: Int32) {
        guard let session = lws_get_ssl(wsi) else { return }
        SSL_set_ex_data(session, place, isFiltered ? UnsafeMutableRawPointer(bitPattern: Int(socket) + 1) : nil)
    }

    @inline(__always)
    static func isFiltered(_ socket: Int32) -> Bool {
        guard let counts, socket >= 0, socket < mostDescriptors else { return false }
        return clws_is_counted(counts + Int(socket)) != 0
    }

    @inline(__always)
    static func socket(of session: OpaquePointer?) -> Int32? {
        guard let place = SSL_get_ex_data(session, place) else { return nil }
        return Int32(truncatingIfNeeded: Int(bitPattern: place) - 1)
    }

    /// Reads with `read`, until there is something to pass on or nothing more to read.
    static func read(
        _ socket: Int32,
        _ bytes: UnsafeMutableRawPointer,
        _ room: Int,
        _ read: (UnsafeMutableRawPointer, Int) -> Int
    ) -> Int {
        guard room > RequestFilter.room, let server = pthread_getspecific(key),
            let filtered = Unmanaged<Server>.fromOpaque(server)._withUnsafeGuaranteedRef({ $0.filters[socket] }),
            !filtered.filter.isDone
        else { return read(bytes, room) }
        while true {
            let count = read(bytes + RequestFilter.room, room - RequestFilter.room)
            guard count > 0 else { return count }
            let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: RequestFilter.room + count)
            let passed = filtered.filter.filter(buffer, from: RequestFilter.room)
            if passed > 0 { return passed }
        }
    }

    typealias TLSRead = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int32) -> Int32

    /// OpenSSL's original function (`dlsym` with RTLD_NEXT, which is -1).
    static let tlsRead: TLSRead? = {
        dlsym(UnsafeMutableRawPointer(bitPattern: -1), "SSL_read").map { unsafeBitCast($0, to: TLSRead.self) }
    }()
}

/// A connection whose requests are filtered: until it is a WebSocket.
final class FilteredConnection {
    let socket: Int32
    var filter: RequestFilter

    init(_ socket: Int32, _ filter: RequestFilter) {
        self.socket = socket
        self.filter = filter
    }
}

/// Replaces the C library's function of the same name, which is `recvfrom` without an address: see `FilteredReads`.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(recv)
public func clwsReceive(_ socket: Int32, _ bytes: UnsafeMutableRawPointer?, _ room: Int, _ flags: Int32) -> Int {
    guard FilteredReads.isFiltered(socket), let bytes, flags == 0 else {
        return recvfrom(socket, bytes, room, flags, nil, nil)
    }
    return FilteredReads.read(socket, bytes, room) { recvfrom(socket, $0, $1, flags, nil, nil) }
}

/// Replaces OpenSSL's function of the same name, see `FilteredReads`.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(SSL_read)
public func clwsReceiveTLS(_ session: OpaquePointer?, _ bytes: UnsafeMutableRawPointer?, _ room: Int32) -> Int32 {
    guard let read = FilteredReads.tlsRead else { return -1 }
    guard let session, let bytes, let socket = FilteredReads.socket(of: session) else {
        return read(session, bytes, room)
    }
    return Int32(
        truncatingIfNeeded: FilteredReads.read(socket, bytes, Int(room)) {
            Int(read(session, $0, Int32(truncatingIfNeeded: $1)))
        }
    )
}
