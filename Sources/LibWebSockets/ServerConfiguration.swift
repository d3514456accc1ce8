/// What a ``Server`` is to listen on, how, and within which limits.
public struct ServerConfiguration: Sendable {
    /// The certificate and key of a listener, PEM files.
    public struct TLS: Sendable {
        /// Path of the certificate chain, leaf first.
        public var certificatePath: String
        /// Path of its private key.
        public var keyPath: String

        /// Names the two files.
        public init(certificatePath: String, keyPath: String) {
            self.certificatePath = certificatePath
            self.keyPath = keyPath
        }
    }

    /// The IPv4 or IPv6 address to listen on; `::` (default) is every address of both families.
    public var host = "::"
    /// The TCP port; 0 (default) lets the system choose, see ``Server/port``.
    public var port = 0
    /// How many loops are to share the port (SO_REUSEPORT), 1 to ``Server/mostLoops``; see ``Server/init(beside:loop:delegate:)``.
    ///
    /// Default 1: nobody else can listen on it.
    public var loops = 1
    /// Certificate and key; nil (default) is plain HTTP.
    public var tls: TLS?
    /// The paths at which a WebSocket upgrade is admitted; elsewhere it gets 404.
    ///
    /// Default `/ws`.
    public var webSocketPaths = ["/ws"]
    /// The subprotocols that an ``UpgradeDecision`` may name.
    public var subprotocols: [String] = []

    /// The longest message a client may send, in bytes; a longer one is closed with 1009 as soon as that is known.
    ///
    /// Default 65,536.
    public var maxMessageBytes = 65_536
    /// The longest request body, in bytes; a longer one gets 413.
    ///
    /// Default 65,536.
    public var maxBodyBytes = 65_536
    /// Space for all header lines of a request, in bytes; more, and the connection ends.
    ///
    /// At most 65,535, default 16,384 (a JWT may be long).
    public var maxHeaderBytes = 16_384
    /// What may wait for one slow reader, in bytes, before ``Server/send(_:to:)`` answers `overflow`.
    ///
    /// Default 1 MiB.
    public var maxQueueBytes = 1 << 20
    /// Sockets at once, HTTP and WebSocket together; nil (default) follows RLIMIT_NOFILE less a margin, at most 131,072.
    public var maxConnections: Int?
    /// Requests whose headers are being read at once, each holding ``maxHeaderBytes``.
    ///
    /// Half of them are for connections that nobody has vouched for, see ``Server/vouch(for:)``. Default 4,096.
    public var maxHandshakes = 4_096
    /// The read buffer of each connection, in bytes: what one `recv` takes, and most of what an idle session costs.
    ///
    /// A message that fits is handed up without being copied. Default 2,048.
    public var receiveBufferBytes = 2_048

    /// Within how many seconds a TLS handshake and a request's headers must be complete.
    ///
    /// Default 10.
    public var handshakeTimeoutSeconds = 10
    /// Within how many seconds a whole request body must have arrived.
    ///
    /// Default 15.
    public var bodyTimeoutSeconds = 15
    /// How many seconds a response may take to be read.
    ///
    /// Default 30.
    public var responseTimeoutSeconds = 30
    /// How long an HTTP connection may idle between requests, in seconds.
    ///
    /// Default 60.
    public var keepAliveSeconds = 60
    /// How long a peer may take to accept and return a close frame, in seconds, before it is cut off.
    ///
    /// Default 5.
    public var closeTimeoutSeconds = 5

    /// Proxies that are believed in `X-Forwarded-For`: each of their connections has a share of its own, and of a request
    /// that has been read the client's address counts.
    ///
    /// Default none.
    public var trustedProxies: [AddressRange] = []

    /// Request headers besides the usual ones that ``RequestHead/header(named:)`` can answer, lower case.
    public var keptHeaders = [
        "user-agent", "if-none-match", "access-control-request-method", "access-control-request-headers",
        "x-forwarded-for",
    ]
    /// Gets what the library logs: rate-limited, control characters escaped, on any thread.
    public var log: (@Sendable (LibraryLogLevel, String) -> Void)?

    /// Everything by default.
    public init() {}
}

/// How grave a line of libwebsockets' own log is (`LLL_ERR`, `LLL_WARN`).
public enum LibraryLogLevel: String, Sendable {
    /// It could not do something.
    case error
    /// It found something odd.
    case warning
}
