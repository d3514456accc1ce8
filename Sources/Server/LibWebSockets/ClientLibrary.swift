internal import CLibwebsockets
internal import CallWire
internal import Glibc
internal import Threads

/// The parts of a `ws://` or `wss://` address.
package struct ClientTarget: Equatable, Sendable {
    package var isTLS: Bool
    package var host: String
    package var port: Int
    /// The path with the query; begins with `/`.
    package var path: String

    /// The host and the port, as in a URL and in the header `Host`.
    package var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// The address as a URL.
    package var url: String { "\(isTLS ? "wss" : "ws")://\(authority)\(path)" }

    package init?(_ url: String) {
        let rest: Substring
        if url.hasPrefix("ws://") {
            (isTLS, rest) = (false, url.dropFirst(5))
        } else if url.hasPrefix("wss://") {
            (isTLS, rest) = (true, url.dropFirst(6))
        } else {
            return nil
        }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        var authority = rest[..<end]
        path = (rest[end...].hasPrefix("/") ? "" : "/") + rest[end...]
        port = isTLS ? 443 : 80
        let isBracketed = authority.hasPrefix("[")
        if let colon = authority.lastIndex(of: ":"), !isBracketed || authority[..<colon].hasSuffix("]") {
            guard let number = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(number) else {
                return nil
            }
            port = number
            authority = authority[..<colon]
        }
        host = String(isBracketed ? authority.dropFirst().dropLast() : authority)
        // A user and a password would be taken for a part of the name.
        guard !isBracketed || authority.hasSuffix("]"), !authority.contains("@") else { return nil }
        guard !host.isEmpty, !url.utf8.contains(where: { $0 <= 32 || $0 == 127 }) else { return nil }
    }
}

/// The library's context for one client, on the library's own event loop, and the memory that the context needs.
final class ClientLibrary {
    private(set) var context: OpaquePointer?
    private let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
    private var strings: [UnsafeMutablePointer<CChar>] = []

    init(authoritiesPath: String?, owner: UnsafeMutableRawPointer) {
        precondition(clws_pre() <= Frame.headroom, "the library writes its header into the headroom of a frame")
        var entry = lws_protocols()
        entry.name = UnsafePointer(string("client"))
        entry.callback = clwsClientEvent
        entry.rx_buffer_size = 4_096
        entry.tx_packet_size = 1 << 24
        protocols.initialize(to: entry)
        (protocols + 1).initialize(to: lws_protocols())
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.protocols = UnsafePointer(protocols)
        info.user = owner
        clws_keep_user(&info)
        info.fd_limit_per_thread = 32
        info.pt_serv_buf_size = 32_768
        // The time limits for connecting to the server and for its response, in seconds.
        info.connect_timeout_secs = 10
        info.timeout_secs = 10
        info.options = UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
        info.alpn = UnsafePointer(string("http/1.1"))
        if let authoritiesPath { info.client_ssl_ca_filepath = UnsafePointer(string(authoritiesPath)) }
        LibraryLog.attach()
        _ = LibraryLog.takeLastError()
        context = LibraryContext.creation.withLock { _ in lws_create_context(&info) }
    }

    deinit {
        protocols.deallocate()
        for string in strings { free(string) }
    }

    private func string(_ text: String) -> UnsafeMutablePointer<CChar>? {
        guard let copy = strdup(text) else { return nil }
        strings.append(copy)
        return copy
    }

    func connect(to target: ClientTarget, _ configuration: WebSocketClient.Configuration) -> Bool {
        var info = lws_client_connect_info()
        info.context = context
        info.address = UnsafePointer(string(target.host))
        info.port = Int32(target.port)
        info.path = UnsafePointer(string(target.path))
        info.host = UnsafePointer(string(target.authority))
        info.ietf_version_or_minus_one = -1
        info.local_protocol_name = UnsafePointer(string("client"))
        info.alpn = UnsafePointer(string("http/1.1"))
        if !configuration.subprotocols.isEmpty {
            info.protocol = UnsafePointer(string(configuration.subprotocols.joined(separator: ", ")))
        }
        if target.isTLS {
            info.ssl_connection = Int32(LCCSCF_USE_SSL.rawValue)
            if configuration.isInsecure {
                info.ssl_connection |= Int32(
                    LCCSCF_ALLOW_SELFSIGNED.rawValue | LCCSCF_ALLOW_INSECURE.rawValue | LCCSCF_ALLOW_EXPIRED.rawValue
                        | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK.rawValue
                )
            }
        }
        return lws_client_connect_via_info(&info) != nil
    }

    func destroy() {
        guard let context else { return }
        lws_context_destroy(context)
        self.context = nil
    }
}

@c
func clwsClientEvent(
    _ wsi: OpaquePointer?,
    _ reason: lws_callback_reasons,
    _ user: UnsafeMutableRawPointer?,
    _ bytes: UnsafeMutableRawPointer?,
    _ count: Int
) -> Int32 {
    guard let wsi, let owner = lws_context_user(lws_get_context(wsi)) else { return 0 }
    // The client exists during the call: its `run()` creates the context, and destroys it before it returns.
    return Unmanaged<WebSocketClient>.fromOpaque(owner)._withUnsafeGuaranteedRef { client in
        client.libraryReported(wsi, reason, bytes, count)
    }
}
