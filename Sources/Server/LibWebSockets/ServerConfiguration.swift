import CallPorts

/// The addresses, the protocols and the limits of a ``Server``.
package struct ServerConfiguration: Sendable {
    /// The certificate and private key of a listener, as PEM files.
    package struct TLS: Sendable {
        /// The path of the certificate chain, leaf first.
        package var certificatePath: String
        /// The path of its private key.
        package var keyPath: String

        /// Creates a pair of these two paths.
        package init(certificatePath: String, keyPath: String) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
        }
    }

    /// The IPv4 or IPv6 address to listen on; `::` (default) is every address of both families.
    package var host = "::"
    /// The TCP port; 0 (default) lets the system choose, see ``Server/port``.
    package var port = 0
    /// The number of event loops that share the port (SO_REUSEPORT), 1 to ``Server/maximumLoops``.
    ///
    /// Further loops are created with ``Server/init(beside:loop:delegate:)``. Default 1: no other socket can listen on
    /// the port.
    package var loops = 1
    /// Certificate and key; nil (default) means plain HTTP.
    package var tls: TLS?
    /// The paths that accept a WebSocket upgrade; an upgrade on any other path is refused with 404.
    ///
    /// Default `/ws`.
    package var webSocketPaths = ["/ws"]
    /// The subprotocols that an ``UpgradeDecision`` may name.
    package var subprotocols: [String] = []

    /// The names, in lower case, of headers that are read besides those of `RequestHead`'s own members.
    ///
    /// The filter of requests must know them too, because it drops the others. Default none.
    package var furtherHeaders: [String] = []

    /// The largest message a client may send, in bytes.
    ///
    /// The connection is closed with 1009 as soon as a message is known to be longer. Default 65,536.
    package var maxMessageBytes = 65_536
    /// The largest request body, in bytes; a larger one is refused with 413.
    ///
    /// Default 65,536.
    package var maxBodyBytes = 65_536
    /// The space for the address and the header lines of a request without `Cookie`, in bytes; a request that needs
    /// more is refused with 431.
    ///
    /// At most 65,535, default 16,384 (a JWT may be long).
    package var maxHeaderBytes = 16_384
    /// The largest head of a request with `Cookie`, which the server does not read, in bytes; a larger one is refused with
    /// 431.
    ///
    /// Default 65,536.
    package var maxHeadBytes = 65_536
    /// The largest send queue of one connection, in bytes; beyond it ``Server/send(_:to:)`` returns `overflow`.
    ///
    /// Default 1 MiB.
    package var maxQueueBytes = 1 << 20
    /// The largest number of open sockets, HTTP and WebSocket together.
    ///
    /// nil (default) follows RLIMIT_NOFILE less a margin, at most 131,072.
    package var maxConnections: Int?
    /// The largest number of requests whose headers are being read at the same time; each takes ``maxHeaderBytes`` of
    /// memory.
    ///
    /// Half of these places are for unauthenticated connections, see ``Server/markAuthenticated(for:)``. Default 4,096.
    package var maxHandshakes = 4_096
    /// The read buffer of each connection, in bytes.
    ///
    /// One `recv` reads at most this much. The buffer is most of the memory of an idle connection. A message that fits
    /// in it is handed to the delegate without being copied. Default 2,048.
    package var receiveBufferBytes = 2_048

    /// The time limit for a TLS handshake and for reading a request's headers, in seconds.
    ///
    /// Default 10.
    package var handshakeTimeoutSeconds = 10
    /// The time limit for receiving a whole request body, in seconds; a request whose body comes later is refused.
    ///
    /// Default 15.
    package var bodyTimeoutSeconds = 15
    /// The time limit for the peer to read a response, in seconds.
    ///
    /// Default 30.
    package var responseTimeoutSeconds = 30
    /// The longest time an HTTP connection may idle between requests, in seconds.
    ///
    /// A proxy must close its idle connections earlier than the server does. Otherwise it may send a request on a
    /// connection that the server has just closed, and answers it with 502. Many proxies wait for 60 s. Default 75.
    package var keepAliveSeconds = 75
    /// The time limit for a peer to receive and return a close frame, or to close its connection after a refusal because
    /// its body came too late, in seconds; then the connection is cut off.
    ///
    /// Default 5.
    package var closeTimeoutSeconds = 5

    /// The proxies whose `X-Forwarded-For` header is trusted.
    ///
    /// In the limits by network, each connection of a proxy counts as a separate network. A request through a proxy
    /// counts for the network of its client (`RequestHead/clientNetwork`).
    ///
    /// By default no proxy is trusted.
    package var trustedProxies: [AddressRange] = []

    /// Receives the library's log lines with control characters escaped, in any number; called on any thread.
    package var log: (@Sendable (LibraryLogLevel, String) -> Void)?

    /// Creates a configuration with all defaults.
    package init() {}
}

/// The severity of a line in libwebsockets' log (`LLL_ERR`, `LLL_WARN`).
package enum LibraryLogLevel: String, Sendable {
    /// The library could not do something.
    case error
    /// The library found something unusual.
    case warning
}
