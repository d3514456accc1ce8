package import CallCore
package import CallPorts
package import LibWebSockets
package import Switchboard
package import Threads

/// The configuration of a gateway: how it listens, and which clients it admits.
package struct GatewayConfiguration: Sendable {
    /// Host, port, TLS and limits of the listener for clients.
    package var server = ServerConfiguration()
    /// The address of the operators' listener for health, metrics and the operators' page.
    ///
    /// `nil`: there is no such listener.
    package var admin: (host: String, port: Int)?
    /// The names by which the operators' listener may be addressed, in addition to those that nobody can register.
    package var adminHosts: Set<String> = []
    /// Whether the store may have to be waited for at the start: it is a database on the network.
    package var mayWaitForStore = false
    /// The origins, in addition to the server's own host, from which browsers may connect; `*` = any.
    package var allowedOrigins: Set<String> = []
    /// Whether a Socket.IO client without a token may name its user itself, unverified.
    ///
    /// Default `false`: with `true`, any client could take any user's calls.
    package var trustsUnverifiedSocketIOUsers = false
    /// The switchboard's policy.
    package var policy = Policy()
    /// How long connections may take to close when the server shuts down, in milliseconds.
    package var drainMilliseconds: Int64 = 5_000
    /// Drain time of a deposed node before it re-executes, in milliseconds.
    ///
    /// A client that keeps an idle HTTP connection open, or does not return the close frame, loses nothing by the end of
    /// its connection. Until then the node is missing.
    package var beginningAnewMilliseconds: Int64 = 1_000
    /// The shortest time between commits of a store on disk while there is much to commit, in milliseconds.
    package var commitSpacingMilliseconds: Int64 = 6
    /// Returns when the served certificate expires, in seconds since 1970; `nil` without TLS.
    package var certificateExpiry: @Sendable () -> Int64? = { nil }
    /// Returns how many lines are missing in the log.
    package var logLines: @Sendable () -> LineFigures = { LineFigures() }
    /// Returns the state of the issuer's published keys; `nil` if no keys are fetched.
    ///
    /// The state is: seconds since the keys arrived, the number of failed fetches, the number of keys.
    package var keySet: @Sendable () -> (ageSeconds: Int64, failures: UInt64, keys: Int)? = { nil }
    /// Returns the figures of each service to which the server sends requests.
    package var outbound: @Sendable () -> [OutboundFigures] = { [] }
    /// Writes an event to the audit log; from any thread.
    package var audit: @Sendable (AuditEvent) -> Void = { _ in }
    /// Returns how many lines are missing in the audit log.
    package var auditLines: @Sendable () -> LineFigures = { LineFigures() }
    /// Returns the number of refused tokens, by cause.
    package var refusedTokens: @Sendable () -> [(cause: String, count: UInt64)] = { [] }
    /// Returns the response to a request for a page; `nil` = the request is for the API.
    ///
    /// Only `ringline demo` has pages. The function runs on the thread of every loop.
    package var page: (@Sendable (RequestHead) -> Response?)?
    /// Returns whether a device is silent: the server does not hear what its WebSockets send, not even pongs.
    ///
    /// Only `ringline demo` has silent devices: they stand for apps that are suspended, and a browser cannot stop
    /// answering pings by itself. The function runs on the thread of every loop.
    package var isSilent: (@Sendable (DeviceID) -> Bool)?
    /// The operators' page; `nil` = the admin listener has health and metrics only.
    package var operatorPage: (any OperatorPage)?
    /// The version that `/healthz` reports.
    package var version = "dev"

    /// The server's clock, shared by all its threads.
    package var clock = ServerClock()

    /// Creates the default configuration.
    package init() {}
}

/// The figures of a service to which the server sends requests, such as a push service.
package struct OutboundFigures: Sendable {
    /// The service.
    package let service: String
    /// The number of its requests in each state.
    package let requests: [(state: String, count: Int)]
    /// The number of its hosts that rest, because no connection could be made to them.
    package let restingHosts: Int

    /// The figures of a service.
    package init(service: String, requests: [(state: String, count: Int)], restingHosts: Int) {
        self.service = service
        self.requests = requests
        self.restingHosts = restingHosts
    }
}
