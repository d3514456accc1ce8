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
    ///
    /// There are none for an origin with a character outside printable ASCII. No browser sends one, and a control
    /// character must not be copied into a header of the response.
    static func headers(for origin: String) -> [HTTPResponse.Header] {
        guard isPrintable(origin) else { return [] }
        return [
            .init("Access-Control-Allow-Origin", origin),
            .init("Vary", "Origin"),
            // The headers that a page may read besides the body: how long to wait, and what is wrong with its token.
            .init("Access-Control-Expose-Headers", "Retry-After, WWW-Authenticate"),
        ]
    }

    /// Returns the headers of the response to a browser's preflight request: the requests that its page may send.
    ///
    /// There are none for an origin with a character outside printable ASCII.
    static func preflightHeaders(for origin: String?) -> [HTTPResponse.Header] {
        guard isPrintable(origin ?? "") else { return [] }
        return [
            .init("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"),
            .init("Access-Control-Allow-Headers", "Authorization, Content-Type"),
            .init("Access-Control-Max-Age", "600"),
        ]
    }

    private static func isPrintable(_ origin: String) -> Bool { origin.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
}
