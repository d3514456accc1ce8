/// The reason why a request got no response.
///
/// Its ``description`` is a phrase for logs and operators; it contains no address, URL or header.
package enum HTTPFailure: Error, Equatable, Sendable {
    /// Too many requests are waiting already; the request was not queued.
    case queueFull
    /// The request is invalid and cannot be sent; the text tells why.
    case invalidRequest(String)
    /// The host's name could not be resolved.
    case nameNotResolved
    /// No connection could be made: the host refused it, was unreachable, or did not reply within the connect timeout.
    case connectFailed
    /// The host's name leads to an address of a private network, which the request refuses.
    case privateAddress
    /// The host's name leads to a public address, which the request refuses.
    case publicAddress
    /// A proxy named by the environment failed.
    case proxyFailed
    /// TLS failed before the certificate was checked.
    case tlsFailed
    /// The server's certificate is not signed by a known authority, or is not for this host.
    case certificateRefused
    /// The CA file cannot be read.
    case caFileUnreadable
    /// The connection was lost while the request was under way; it is unknown whether the server acted on it.
    case connectionLost
    /// The server closed this stream with an error, or violated HTTP/2's rules.
    case streamFailed
    /// The server does not speak HTTP/2, which the request requires.
    case notHTTP2
    /// The response is not one of HTTP.
    case notHTTP
    /// The response's headers are longer than the client takes.
    case headersTooLong
    /// The deadline passed; `sent` tells whether the request was sent.
    case timedOut(sent: Bool)
    /// The response's body is larger than the request's limit.
    case bodyTooLarge
    /// The request was cancelled by ``HTTPClient/cancel(_:onlyIfUnsent:)``; `sent` tells whether the request was sent.
    case cancelled(sent: Bool)
    /// The client was shut down before the response came.
    case shutDown
    /// Any other failure, in libcurl's own words.
    case other(String)
}

extension HTTPFailure: CustomStringConvertible {
    /// The failure as a phrase that begins in lower case.
    package var description: String {
        switch self {
        case .queueFull: "the request queue is full"
        case .invalidRequest(let what): "the request cannot be sent: \(what)"
        case .nameNotResolved: "cannot resolve the host name"
        case .connectFailed: "the host cannot be reached, or refuses the connection"
        case .privateAddress: "the host has an address of a private network"
        case .publicAddress: "the host has a public address, to which only https may go"
        case .proxyFailed: "the proxy cannot be reached, or refuses the request"
        case .tlsFailed: "the TLS handshake failed"
        case .certificateRefused: "the server's certificate was refused"
        case .caFileUnreadable: "the CA file cannot be read"
        case .connectionLost: "the connection was lost before the response came"
        case .streamFailed: "the server reset the HTTP/2 stream"
        case .notHTTP2: "the server does not support HTTP/2"
        case .notHTTP: "the response is not one of HTTP"
        case .headersTooLong: "the response's headers are too long"
        case .timedOut(sent: true): "no response came before the deadline"
        case .timedOut(sent: false): "the request could not be sent before the deadline"
        case .bodyTooLarge: "the response body is larger than the limit"
        case .cancelled: "the request was cancelled"
        case .shutDown: "the client was shut down"
        case .other(let words): words
        }
    }
}
