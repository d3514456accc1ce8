public import CallCore

/// Who lets clients use the TURN server: the port to its shared secret.
///
/// Called on the loop; it must be quick and do no I/O.
public protocol RelayIssuer: Sendable {
    /// A credential for a user, from a moment on.
    func credential(for user: UserID, at now: Moment) -> RelayCredential
}

/// What a client needs to have its media relayed, in the words of coturn's REST scheme (draft-uberti-behave-turn-rest).
public struct RelayCredential: Equatable, Sendable {
    /// `<seconds since 1970 when it ends>:<user>`.
    public var username: String
    /// The password that goes with it.
    public var credential: String
    /// How long it is good, in seconds.
    public var ttlSeconds: Int64
    /// Where the servers are: `turn:`, `turns:` and `stun:` addresses (RFC 7064, RFC 7065).
    public var urls: [String]

    /// A credential of all its parts.
    public init(username: String, credential: String, ttlSeconds: Int64, urls: [String]) {
        self.username = username
        self.credential = credential
        self.ttlSeconds = ttlSeconds
        self.urls = urls
    }
}
