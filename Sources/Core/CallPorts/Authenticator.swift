/// The port to the keys: it verifies bearer tokens, and the capabilities that pushes carry.
///
/// Called on every thread that serves connections.
package protocol Authenticator: Sendable {
    /// Returns the identity in a bearer token, verified at a moment in seconds since 1970.
    func authenticate(_ token: String, atSeconds now: Int64) throws(AuthenticationError) -> Principal

    /// Returns the identity in a push's capability, which has a scope of one device and one call, verified at a moment
    /// in milliseconds since 1970.
    ///
    /// - Throws: ``AuthenticationError/invalid(_:)``.
    func authenticate(capability: String, atMilliseconds now: Int64) throws(AuthenticationError) -> Principal
}

/// The reason why a token or a capability is refused, with a sentence for the client.
///
/// The sentence never contains text that the client sent.
package enum AuthenticationError: Error, Equatable, Sendable {
    /// The text is not a valid token or capability.
    case invalid(String)
    /// The token or capability was valid, and has expired.
    case expired(String)
    /// The key that verifies the token has not been fetched yet; the client may try again in a moment.
    case keysUnavailable(String)
}
