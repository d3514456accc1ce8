/// Why there is no response.
///
/// Its ``description`` is a phrase for logs and operators, without address, URL or header.
public enum HTTPFailure: Error, Equatable, Sendable {
    /// Too many requests are waiting already; nothing was done.
    case queueFull
    /// The request cannot be sent as it stands; says what is wrong with it.
    case invalidRequest(String)
    /// The host's name could not be resolved.
    case nameNotResolved
    /// No connection came about (refused, unreachable, or nobody answered within the connect timeout).
    case connectFailed
    /// A proxy named by the environment failed.
    case proxyFailed
    /// TLS failed before a certificate was judged.
    case tlsFailed
    /// The server's certificate is not signed by a known authority, or not for this host.
    case certificateRefused
    /// The CA file cannot be read.
    case caFileUnreadable
    /// The connection was lost while the request was under way; whether the server acted on it is unknown.
    case connectionLost
    /// The server closed just this stream with an error, or broke HTTP/2's rules.
    case streamFailed
    /// The server does not speak HTTP/2, which the request requires.
    case notHTTP2
    /// The deadline passed; `sent` tells whether the request had gone out.
    case timedOut(sent: Bool)
    /// The response's body is longer than the request's limit.
    case bodyTooLarge
    /// Cancelled by ``HTTPClient/cancel(_:onlyIfUnsent:)``; `sent` tells whether the request had gone out.
    case cancelled(sent: Bool)
    /// The client was shut down first.
    case shutDown
    /// Anything else, in libcurl's own words.
    case other(String)
}

extension HTTPFailure: CustomStringConvertible {
    /// What happened, as a phrase that begins in lower case.
    public var description: String {
        switch self {
        case .queueFull: "too many requests are waiting already"
        case .invalidRequest(let what): "the request cannot be sent: \(what)"
        case .nameNotResolved: "the host's name could not be resolved"
        case .connectFailed: "no connection could be made"
        case .proxyFailed: "the proxy failed"
        case .tlsFailed: "the TLS handshake failed"
        case .certificateRefused: "the server's certificate was refused"
        case .caFileUnreadable: "the CA file cannot be read"
        case .connectionLost: "the connection was lost before the answer came"
        case .streamFailed: "the server broke the HTTP/2 stream off"
        case .notHTTP2: "the server does not speak HTTP/2"
        case .timedOut(sent: true): "no answer came in time"
        case .timedOut(sent: false): "the request could not be sent in time"
        case .bodyTooLarge: "the answer is too long"
        case .cancelled: "the request was cancelled"
        case .shutDown: "the client was shut down"
        case .other(let words): words
        }
    }
}
