/// How an ``HTTPClient`` connects and what it holds at most.
///
/// Every default suits a signaling server.
public struct HTTPClientConfiguration: Sendable {
    /// A PEM file of the authorities to trust instead of the system's; nil means the system's.
    public var caFile: String?
    /// Whether `https_proxy`, `all_proxy` and `no_proxy` are followed as curl does.
    ///
    /// Default true.
    public var usesProxyFromEnvironment = true
    /// How long a connection may take to stand, TLS included, in milliseconds.
    ///
    /// Default 5,000.
    public var connectTimeoutMilliseconds: Int = 5_000
    /// How long sent bytes may stay unacknowledged before the connection counts as lost, in milliseconds (Linux's
    /// `TCP_USER_TIMEOUT`).
    ///
    /// Default 5,000.
    ///
    /// A connection that a firewall forgot looks alive until the kernel gives up, after 15 minutes by default: this is
    /// what notices within seconds that a push goes nowhere.
    public var unacknowledgedTimeoutMilliseconds: Int = 5_000
    /// Connections to one host at most.
    ///
    /// Default 4.
    ///
    /// One is enough for a thousand streams; APNs however grants a single stream to a connection that has not yet shown
    /// a valid provider token, and an HTTP/1.1 server needs one for each request.
    public var connectionsPerHost: Int = 4
    /// Requests under way to one host at most; the rest wait their turn.
    ///
    /// Default 500 (APNs allows about 1,000 streams).
    public var openPerHost: Int = 500
    /// How long the first request to a host goes alone, in milliseconds: until it is answered, or for so long.
    ///
    /// The next go out with its answer, or when the time is over; after a lost connection one goes alone again. For a
    /// server that grants a new connection few streams and refuses the others, as APNs does. Default 0: no such wait.
    public var firstAloneMilliseconds: Int64 = 0
    /// Requests waiting for one host at most; one more fails with ``HTTPFailure/queueFull``.
    ///
    /// Default 10,000.
    public var waitingPerHost: Int = 10_000
    /// Requests waiting for all hosts together at most.
    ///
    /// Default 40,000, so that a dead host cannot fill it alone.
    public var waitingInAll: Int = 40_000
    /// The thread's name, at most 15 bytes, as `top -H` shows it.
    ///
    /// Default `http-out`.
    public var threadName = "http-out"

    /// The defaults.
    public init() {}
}

/// Why an ``HTTPClient`` could not be made.
public enum HTTPClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// libcurl is not usable: too old, without HTTP/2 or TLS, or out of memory; says which.
    case libraryUnusable(String)
    /// The system refused a thread (`pthread_create`).
    case noThread

    /// One sentence.
    public var description: String {
        switch self {
        case .libraryUnusable(let why): "libcurl cannot be used: \(why)."
        case .noThread: "The system refused to start a thread."
        }
    }
}
