/// Verifies tokens and capabilities: the port to the keys.
///
/// Called on every thread that serves connections.
public protocol Bouncer: Sendable {
    /// Returns the bearer of a token, verified at a moment in seconds since 1970.
    func admit(_ token: String, atSeconds now: Int64) throws(AdmissionError) -> Who

    /// Returns the device and call of a push's capability, verified at a moment in milliseconds since 1970.
    ///
    /// - Throws: ``AdmissionError/invalid(_:)``.
    func admit(capability: String, atMilliseconds now: Int64) throws(AdmissionError) -> Who
}

/// The reason why a token or a capability is refused, with a sentence for the client.
///
/// The sentence never contains text that the client sent.
public enum AdmissionError: Error, Equatable, Sendable {
    /// It is not a valid token or capability.
    case invalid(String)
    /// The token was valid, and has expired.
    case expired(String)
    /// The key that verifies the token has not been fetched yet; the client may try again in a moment.
    case keysUnavailable(String)
}
