internal import CLibwebsockets
internal import CallWire
internal import DequeModule
internal import Glibc
internal import Threads

/// A WebSocket client on libwebsockets, which occupies one thread.
///
/// It is meant for command-line tools and tests, not for thousands of connections.
package final class WebSocketClient: @unchecked Sendable {
    // @unchecked: other threads touch only the inbox; everything else belongs to the client's thread.

    /// The address to connect to, and the credentials.
    package struct Configuration: Sendable {
        /// A `ws://` or `wss://` address with host, port (default 80 or 443), path and query.
        package var url: String
        /// The whole value of `Authorization`.
        package var authorization: String?
        /// The subprotocols offered, in order.
        package var subprotocols: [String] = []
        /// A PEM file of the certificate authorities to trust instead of those of the system.
        package var authoritiesPath: String?
        /// Whether any server certificate is accepted.
        package var isInsecure = false

        /// Creates a configuration with only the address set.
        package init(url: String) {
            self.url = url
        }
    }

    /// The events of a client, reported in order on the client's thread.
    package enum Event: Sendable, Equatable {
        /// The handshake is complete.
        case opened
        /// A whole text message arrived.
        case text(String)
        /// A pong with a payload arrived.
        case pong
        /// The connection ended after `opened`, with the peer's close code if there was one.
        case closed(code: UInt16?, reason: String)
        /// The connection was never opened; the text is the reason.
        case failed(String)
    }

    enum Outgoing {
        case text([UInt8])
        case ping([UInt8])
        case close(UInt16, [UInt8])
    }

    private let configuration: Configuration
    private let onEvent: @Sendable (Event) -> Void
    private let inbox = Inbox<Outgoing>()
    // Used on the client's thread only.
    private var outgoing = Deque<Outgoing>()
    private var wsi: OpaquePointer?
    private var partial: [UInt8] = []
    private var wasOpened = false
    private var isOver = false
    private var code: UInt16?
    private var reason = ""

    /// Creates a client that is not connected yet.
    package init(_ configuration: Configuration, onEvent: @escaping @Sendable (Event) -> Void) {
        self.configuration = configuration
        self.onEvent = onEvent
    }

    /// Connects, serves until the connection has ended, and returns.
    ///
    /// Until this method returns, the calling thread is the client's thread.
    package func run() {
        let target = ClientTarget(configuration.url)
        guard let target else {
            onEvent(.failed("invalid address \(configuration.url): must begin with ws:// or wss://"))
            return
        }
        let library = ClientLibrary(
            authoritiesPath: configuration.authoritiesPath,
            owner: Unmanaged.passUnretained(self).toOpaque()
        )
        guard let context = library.context else {
            onEvent(.failed(LibraryLog.takeLastError()))
            return
        }
        // Any thread may call `lws_cancel_service` while the context exists.
        nonisolated(unsafe) let wakened = context
        inbox.setWakeFunction { lws_cancel_service(wakened) }
        if !library.connect(to: target, configuration), !isOver {
            finish(.failed("cannot connect to \(configuration.url)"))
        }
        while !isOver, lws_service(context, 0) >= 0 {}
        inbox.setWakeFunction(nil)
        library.destroy()
    }

    /// Sends a text message; may be called from any thread, also before the connection is open.
    package func send(_ text: String) { inbox.put(.text(Array(text.utf8))) }

    /// Sends a ping with these 1–125 bytes; may be called from any thread.
    package func ping(_ payload: [UInt8] = [112]) { inbox.put(.ping(Array(payload.prefix(125)))) }

    /// Closes the connection after everything sent before; may be called from any thread.
    package func close(code: UInt16 = 1000, reason: String = "") {
        inbox.put(.close(code, Array(reason.utf8.prefix(123))))
    }

    // MARK: On its thread

    func libraryReported(
        _ wsi: OpaquePointer,
        _ reason: lws_callback_reasons,
        _ bytes: UnsafeMutableRawPointer?,
        _ count: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: return appendHeader(bytes, room: count)
        case LWS_CALLBACK_CLIENT_ESTABLISHED:
            self.wsi = wsi
            wasOpened = true
            onEvent(.opened)
            lws_callback_on_writable(wsi)
        case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
            outgoing += inbox.take().elements
            if let wsi = self.wsi {
                lws_callback_on_writable(wsi)
            } else if isGivenUp {
                finish(.failed("closed by this client before the connection was open"))
            }
        case LWS_CALLBACK_CLIENT_WRITEABLE: return writable(wsi)
        case LWS_CALLBACK_CLIENT_RECEIVE:
            partial.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
            guard lws_is_final_fragment(wsi) != 0 else { return 0 }
            onEvent(.text(String(decoding: partial, as: UTF8.self)))
            partial = []
        case LWS_CALLBACK_CLIENT_RECEIVE_PONG: onEvent(.pong)
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            let payload = UnsafeRawBufferPointer(start: bytes, count: count)
            guard count >= 2 else { return 0 }
            code = UInt16(payload[0]) << 8 | UInt16(payload[1])
            self.reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            finish(
                .failed(
                    bytes.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: count), as: UTF8.self) }
                        ?? "cannot connect to \(configuration.url)"
                )
            )
        case LWS_CALLBACK_CLIENT_CLOSED: finish(.closed(code: code, reason: self.reason))
        // The library does not report a connection error for some failures, such as a response that is not HTTP.
        case LWS_CALLBACK_CLOSED_CLIENT_HTTP, LWS_CALLBACK_WSI_DESTROY:
            finish(
                wasOpened
                    ? .closed(code: code, reason: self.reason)
                    : .failed("the server closed the connection without a WebSocket handshake response")
            )
        default: break
        }
        return 0
    }

    /// Whether a call of ``close(code:reason:)`` waits to be carried out.
    private var isGivenUp: Bool {
        outgoing.contains { if case .close = $0 { true } else { false } }
    }

    private func appendHeader(_ at: UnsafeMutableRawPointer?, room: Int) -> Int32 {
        guard let authorization = configuration.authorization, let at else { return 0 }
        let line = Array("Authorization: \(authorization)\r\n".utf8)
        let cursor = at.assumingMemoryBound(to: UnsafeMutablePointer<UInt8>.self)
        guard line.count < room, !authorization.utf8.contains(where: { $0 < 32 }) else { return -1 }
        line.withUnsafeBufferPointer { line in
            if let base = line.baseAddress { cursor.pointee.update(from: base, count: line.count) }
        }
        cursor.pointee += line.count
        return 0
    }

    private func writable(_ wsi: OpaquePointer) -> Int32 {
        outgoing += inbox.take().elements
        guard let next = outgoing.popFirst() else { return 0 }
        let isWritten: Bool
        switch next {
        case .text(let bytes): isWritten = write(bytes, LWS_WRITE_TEXT, wsi)
        case .ping(let bytes): isWritten = write(bytes, LWS_WRITE_PING, wsi)
        case .close(let code, var reason):
            self.code = code
            reason.withUnsafeMutableBufferPointer { reason in
                lws_close_reason(wsi, lws_close_status(rawValue: UInt32(code)), reason.baseAddress, reason.count)
            }
            return -1
        }
        lws_callback_on_writable(wsi)
        return isWritten ? 0 : -1
    }

    private func write(_ bytes: [UInt8], _ kind: lws_write_protocol, _ wsi: OpaquePointer) -> Bool {
        var frame = Frame(bytes).bytes
        return frame.withUnsafeMutableBufferPointer { frame in
            guard let base = frame.baseAddress else { return false }
            return lws_write(wsi, base + Frame.headroom, bytes.count, kind) >= bytes.count
        }
    }

    private func finish(_ event: Event) {
        guard !isOver else { return }
        isOver = true
        wsi = nil
        // This also wakes the library, which might otherwise wait for events that never come.
        inbox.close()
        onEvent(event)
    }
}
