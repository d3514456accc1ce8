import LibWebSockets

/// Decides which web pages may use the server, by the `Origin` that browsers send.
///
/// It also makes the CORS headers of responses.
struct OriginPolicy: Sendable {
    private let allowed: Set<String>

    /// Creates the policy for these origins, besides the server's own; `*` = any.
    init(allowing allowed: Set<String>) { self.allowed = allowed }

    /// Returns whether a page of this origin may connect.
    ///
    /// By default only pages of the same host may.
    func isAllowed(origin: String?, host: String?) -> Bool {
        guard let origin else { return true }
        if allowed.contains("*") || allowed.contains(origin) { return true }
        guard let host, let slash = origin.lastIndex(of: "/") else { return false }
        return origin[origin.index(after: slash)...].lowercased() == host.lowercased()
    }

    /// Returns the headers that let a page of this origin read a response.
    static func headers(for origin: String) -> [HTTPResponse.Header] {
        [
            .init("Access-Control-Allow-Origin", origin),
            .init("Vary", "Origin"),
            // The headers that a page may read besides the body: how long to wait, and what is wrong with its token.
            .init("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate"),
        ]
    }

    /// The headers of the response to a browser's preflight request: the requests that its page may send.
    static let preflightHeaders: [HTTPResponse.Header] = [
        .init("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"),
        .init("Access-Control-Allow-Headers", "Authorization, Content-Type"),
        .init("Access-Control-Max-Age", "600"),
    ]
}
