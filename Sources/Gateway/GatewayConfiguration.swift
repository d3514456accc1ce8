public import CallWire
public import LibWebSockets
public import Switchboard
package import Threads

/// How a gateway listens and whom it lets in.
public struct GatewayConfiguration: Sendable {
    /// Host, port, TLS and limits of the listener for clients.
    public var server = ServerConfiguration()
    /// Where operators ask: health, metrics.
    ///
    /// `nil` = nowhere.
    public var admin: (host: String, port: Int)?
    /// Origins, besides the server's own host, from which browsers may connect; `*` = any.
    public var allowedOrigins: Set<String> = []
    /// Whether a Socket.IO client without a token is believed in who it says it is.
    ///
    /// Default `false`: anybody could take anybody's calls.
    public var trustsRegister = false
    /// What the switchboard goes by.
    public var policy = Policy()
    /// For how long sessions may take to close when the server is shut down, in milliseconds.
    public var drainMilliseconds: Int64 = 5_000
    /// How far commits of a store on disk keep apart when there is much to commit, in milliseconds.
    public var commitSpacingMilliseconds: Int64 = 6
    /// Until when the served certificate is good, in seconds since 1970; `nil` without TLS.
    public var certificateExpiry: @Sendable () -> Int64? = { nil }
    /// How many log lines could not be written.
    public var droppedLogLines: @Sendable () -> UInt64 = { 0 }
    /// How the issuer's published keys stand: seconds since they came, fetches that failed, how many there are; `nil` without.
    public var keySet: @Sendable () -> (ageSeconds: Int64, failures: UInt64, keys: Int)? = { nil }
    /// Takes what is to be answered for later; from any thread.
    public var audit: @Sendable (AuditEvent) -> Void = { _ in }
    /// How many lines of the audit log could not be written.
    public var droppedAuditLines: @Sendable () -> UInt64 = { 0 }
    /// How many tokens were refused, by cause.
    public var refusedTokens: @Sendable () -> [(cause: String, count: UInt64)] = { [] }
    /// What `/healthz` says of itself.
    public var version = "dev"

    /// The server's clock, one for all its threads.
    package var clock = ServerClock()

    /// The defaults.
    public init() {}
}

/// Finds out who a token's bearer is: the port to the keys.
public protocol Bouncer: Sendable {
    /// Who bears this token, at a moment in seconds since 1970.
    /// - Throws: `WireError` with `unauthenticated` or `token_expired`.
    func admit(_ token: String, atSeconds now: Int64) throws(WireError) -> Who

    /// What a push's capability stands for, at a moment in milliseconds since 1970.
    /// - Throws: `WireError` with `unauthenticated`.
    func admit(capability: String, atMilliseconds now: Int64) throws(WireError) -> Who
}
