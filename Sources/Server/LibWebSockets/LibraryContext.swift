internal import CLibwebsockets
internal import CallWire
internal import Glibc
internal import Threads

/// One `lws_context`, its vhosts, and the C memory that must outlive them.
///
/// The context runs on the server's `uv_loop_t`, which is a foreign loop for the library.
///
/// The context has no listening socket. The server accepts connections and hands their sockets over. Accepting in the
/// server costs one system call a connection instead of six, and leaves three things to the server: refusing
/// connections, draining, and a separate listener for administration.
final class LibraryContext {
    /// Marks the server's protocols, so that a server's connections can be distinguished from those of a client.
    static let protocolMark: UInt32 = 0x5269_6E67

    /// Whether the library ends a connection on which bytes come while a response is pending, as it does from version 4.2
    /// on.
    static var endsConnectionsThatPipeline: Bool {
        (LWS_LIBRARY_VERSION_MAJOR, LWS_LIBRARY_VERSION_MINOR) >= (4, 2)
    }

    private(set) var context: OpaquePointer?
    private(set) var plainHost: OpaquePointer?
    private(set) var secureHost: OpaquePointer?
    /// The number of descriptors that the library's tables can hold.
    private(set) var descriptorLimit = 0

    private let loop: UnsafeMutablePointer<uv_loop_t>
    private let protocols: UnsafeMutablePointer<lws_protocols>
    private let retry: UnsafeMutablePointer<lws_retry_bo_t>
    private let foreignLoops: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private var strings: [UnsafeMutablePointer<CChar>] = []

    /// Serializes the creation and destruction of contexts.
    ///
    /// Creation initializes OpenSSL and changes RLIMIT_NOFILE for a moment (`DescriptorLimit`).
    static let creation = Monitor(())

    init(
        _ configuration: ServerConfiguration,
        loop: UnsafeMutablePointer<uv_loop_t>,
        owner: UnsafeMutableRawPointer
    ) throws(ServerError) {
        self.loop = loop
        protocols = .allocate(capacity: configuration.subprotocols.count + 2)
        retry = .allocate(capacity: 1)
        foreignLoops = .allocate(capacity: 1)
        // All fields are zero, so the library sends no pings, does not hang up on idle connections, and sets no timer
        // for each connection. With such timers, opening 19,000 connections would take 22 s instead of 1.6 s.
        retry.initialize(to: lws_retry_bo_t())
        foreignLoops.initialize(to: UnsafeMutableRawPointer(loop))
        // The first protocol has no name. An upgrade that is admitted without a subprotocol then gets no header for
        // one.
        for (index, name) in ([""] + configuration.subprotocols).enumerated() {
            var entry = lws_protocols()
            entry.name = UnsafePointer(string(name))
            entry.callback = clwsServerEvent
            entry.rx_buffer_size = configuration.receiveBufferBytes
            entry.tx_packet_size = 1 << 24
            entry.id = Self.protocolMark
            (protocols + index).initialize(to: entry)
        }
        (protocols + configuration.subprotocols.count + 1).initialize(to: lws_protocols())
        try Self.creation.withLock { _ throws(ServerError) in try create(configuration, owner: owner) }
    }

    deinit {
        protocols.deallocate()
        retry.deallocate()
        foreignLoops.deallocate()
        for string in strings { free(string) }
    }

    /// Throws if the library writes more bytes in front of a payload than a frame leaves free.
    ///
    /// Such a library would silently overwrite memory in front of the array.
    static func checkHeadroom(wanted: Int = clws_pre()) throws(ServerError) {
        guard wanted > Frame.headroom else { return }
        throw .library(
            "its LWS_PRE is \(wanted) bytes, but a frame reserves \(Frame.headroom); build Ringline with a larger Frame.headroom"
        )
    }

    private func string(_ text: String) -> UnsafeMutablePointer<CChar>? {
        guard let copy = strdup(text) else { return nil }
        strings.append(copy)
        return copy
    }

    private func create(
        _ configuration: ServerConfiguration,
        owner: UnsafeMutableRawPointer
    ) throws(ServerError) {
        try Self.checkHeadroom()
        var info = settings(configuration, owner: owner)
        if let tls = configuration.tls {
            info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
            for path in [tls.certificatePath, tls.keyPath] where access(path, R_OK) != 0 {
                throw .unreadableFile(path: path, reason: String(cString: strerror(errno)))
            }
        }
        LibraryLog.setSink(configuration.log)
        _ = LibraryLog.takeLastError()
        (context, descriptorLimit) = DescriptorLimit.library(
            wanting: configuration.maxConnections,
            loops: configuration.loops
        ) { limit in
            info.fd_limit_per_thread = UInt32(limit)
            return lws_create_context(&info)
        }
        guard let context else {
            let reason = LibraryLog.takeLastError()
            throw reason.contains("evlib") ? .eventLoopPluginMissing : .library(reason)
        }
        try createHosts(configuration, in: context, &info)
    }

    /// Returns the settings of the context, which its vhosts share.
    private func settings(
        _ configuration: ServerConfiguration,
        owner: UnsafeMutableRawPointer
    ) -> lws_context_creation_info {
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN_SERVER
        info.protocols = UnsafePointer(protocols)
        info.user = owner
        clws_keep_user(&info)
        info.foreign_loops = foreignLoops
        info.retry_and_idle_policy = UnsafePointer(retry)
        info.timeout_secs = UInt32(clamping: configuration.handshakeTimeoutSeconds)
        info.timeout_secs_ah_idle = UInt32(clamping: configuration.handshakeTimeoutSeconds)
        info.keepalive_timeout = Int32(clamping: configuration.keepAliveSeconds)
        info.max_http_header_data = UInt16(clamping: configuration.maxHeaderBytes)
        info.max_http_header_pool = UInt16(clamping: configuration.maxHandshakes)
        info.pt_serv_buf_size = 32_768
        info.alpn = UnsafePointer(string("http/1.1"))
        // LWS_SERVER_OPTION_VALIDATE_UTF8 is left out: the server checks text once, where it passes the text to the
        // delegate.
        info.options = UInt64(LWS_SERVER_OPTION_LIBUV) | UInt64(LWS_SERVER_OPTION_EXPLICIT_VHOSTS)
        return info
    }

    /// Creates the vhost for connections without TLS and, if there is a certificate, the one for TLS.
    private func createHosts(
        _ configuration: ServerConfiguration,
        in context: OpaquePointer,
        _ info: inout lws_context_creation_info
    ) throws(ServerError) {
        info.vhost_name = UnsafePointer(string("plain"))
        plainHost = lws_create_vhost(context, &info)
        if let tls = configuration.tls {
            info.vhost_name = UnsafePointer(string("secure"))
            info.ssl_cert_filepath = UnsafePointer(string(tls.certificatePath))
            info.ssl_private_key_filepath = UnsafePointer(string(tls.keyPath))
            // The library's first line names the cause, its last line only the failure. The thrown error contains the
            // first line, so the lines need not be logged as well.
            LibraryLog.hold()
            secureHost = lws_create_vhost(context, &info)
            let reason = LibraryLog.release(toSink: secureHost != nil)
            if secureHost == nil {
                destroy()
                throw .badCertificate(path: tls.certificatePath, reason: reason)
            }
        }
        if plainHost == nil {
            destroy()
            throw .library(LibraryLog.takeLastError())
        }
    }

    /// Calls ``destroy()``, for one context at a time.
    ///
    /// The library closes the descriptor of its event pipe twice. At the second close, the descriptor's number may
    /// already belong to another context.
    func destroyAlone() {
        Self.creation.withLock { _ in destroy() }
    }

    /// Closes every connection, lets libuv finish its handles, and frees the context.
    func destroy() {
        guard let context else { return }
        lws_context_destroy(context)
        // The library closes its handles in callbacks of the event loop, and its context contains some of them.
        var rounds = 0
        while uv_run(loop, UV_RUN_NOWAIT) != 0, rounds < 100_000 { rounds += 1 }
        lws_context_destroy(context)
        self.context = nil
    }
}
