/// How an ``HTTPClient`` connects, and its limits.
package struct HTTPClientConfiguration: Sendable {
    /// A PEM file of the certificate authorities to trust instead of the system's; nil means the system's.
    package var caFile: String?
    /// Whether the environment variables `https_proxy`, `all_proxy` and `no_proxy` are used as curl uses them.
    ///
    /// Default true.
    package var usesProxyFromEnvironment = true
    /// The time limit for establishing a connection, TLS included, in milliseconds.
    ///
    /// Default 5,000.
    package var connectTimeoutMilliseconds: Int = 5_000
    /// The time for which sent bytes may stay unacknowledged before the connection counts as lost, in milliseconds
    /// (Linux's `TCP_USER_TIMEOUT`).
    ///
    /// Default 5,000.
    ///
    /// A connection that a firewall has forgotten looks alive until the kernel gives up, after 15 minutes by default.
    /// With this limit a push that goes nowhere is noticed within seconds.
    package var unacknowledgedTimeoutMilliseconds: Int = 5_000
    /// The largest number of connections to one host.
    ///
    /// Default 4.
    ///
    /// One HTTP/2 connection is enough for a thousand streams. But APNs grants only a single stream to a connection
    /// that has not yet shown a valid provider token, and an HTTP/1.1 server needs one connection for each request.
    package var connectionsPerHost: Int = 4
    /// How many requests resolve a name or connect at a time, at most; also the limit of threads for look-ups.
    ///
    /// Default 8.
    package var connecting = 8
    /// How many of ``connecting`` are only for requests to known hosts (``HTTPRequest/isToKnownHost``).
    ///
    /// Default 0.
    package var reservedForKnownHosts = 0
    /// How many requests of one user (``HTTPRequest/user``) resolve or connect at a time.
    ///
    /// Default 3.
    package var connectingPerUser = 3
    /// Looks a name up, and returns its addresses as text; none if it cannot be resolved.
    ///
    /// It is called on threads of the client's own, and may block.
    var lookUp: @Sendable (String) -> [String] = NameLookups.system
    /// The largest number of requests under way to one host; further requests wait.
    ///
    /// Default 500 (APNs allows about 1,000 streams).
    package var openPerHost: Int = 500
    /// The time for which the first request to a host goes alone, in milliseconds.
    ///
    /// The next requests go out when the first has a response or the time is over. After a lost connection, one request
    /// goes alone again. This is for a server that grants a new connection only few streams and refuses further ones,
    /// as APNs does. Default 0: there is no such wait.
    package var firstAloneMilliseconds: Int64 = 0
    /// The largest number of requests waiting for one host; one more fails with ``HTTPFailure/queueFull``.
    ///
    /// Default 10,000.
    package var waitingPerHost: Int = 10_000
    /// The largest number of requests waiting for all hosts together.
    ///
    /// Default 40,000: four times ``waitingPerHost``, so that the requests to one dead host leave room for those to
    /// other hosts.
    package var waitingInAll: Int = 40_000
    /// The thread's name, at most 15 bytes, as `top -H` shows it.
    ///
    /// Default `http-out`.
    package var threadName = "http-out"

    /// Creates a configuration with all defaults.
    package init() {}

    /// Creates the configuration of a service's client.
    package init(_ share: ConnectionShare, threadName: String) {
        connecting = share.count
        reservedForKnownHosts = share.reservedForKnownHosts
        self.threadName = threadName
    }
}

/// The reason why an ``HTTPClient`` could not be created.
package enum HTTPClientError: Error, Equatable, Sendable, CustomStringConvertible {
    /// libcurl is unusable: too old, without HTTP/2 or TLS, or out of memory; the text tells which.
    case libraryUnusable(String)
    /// The system refused a thread (`pthread_create`).
    case noThread

    /// One sentence about the error.
    package var description: String {
        switch self {
        case .libraryUnusable(let why): "libcurl cannot be used: \(why)."
        case .noThread: "The system refused to start a thread."
        }
    }
}
