package import CallCore

/// The port to the TURN server's shared secret, which lets clients use that server.
///
/// Its method is called on the event loop, so it must return quickly and do no I/O.
package protocol TURNCredentialIssuer: Sendable {
    /// Returns a credential for a user, valid from a moment on.
    func credential(for user: UserID, at now: Moment) -> TURNCredential
}

/// The credential that a client needs to use the TURN server, in the terms of coturn's REST scheme
/// (draft-uberti-behave-turn-rest).
package struct TURNCredential: Equatable, Sendable {
    /// `<seconds since 1970 when it expires>:<user>`.
    package var username: String
    /// The password for the user name.
    package var credential: String
    /// How long the credential is valid, in seconds.
    package var ttlSeconds: Int64
    /// The addresses of the servers: `turn:`, `turns:` and `stun:` (RFC 7064, RFC 7065).
    package var urls: [String]

    /// A credential with the given members.
    package init(username: String, credential: String, ttlSeconds: Int64, urls: [String]) {
        self.username = username
        self.credential = credential
        self.ttlSeconds = ttlSeconds
        self.urls = urls
    }
}
