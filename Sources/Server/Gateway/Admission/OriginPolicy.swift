import CallPorts
import LibWebSockets

/// Decides which web pages may use the server, by the `Origin` that browsers send.
///
/// It also makes the CORS headers of responses.
struct OriginPolicy: Sendable {
    private let allowed: Set<String>

    /// Creates the policy for these origins and the server's own; `*` = any.
    init(allowing allowed: Set<String>) { self.allowed = allowed }

    /// Returns whether a page of this origin may connect.
    ///
    /// By default only pages of the same host may.
    func isAllowed(origin: String?, host: String?) -> Bool {
        guard let origin else { return true }
        if allowed.contains("*") || allowed.contains(origin) { return true }
        guard let origin = WebOrigin(origin) else { return false }
        if allowed.contains(origin.text) { return true }
        guard let host, let server = Authority(host) else { return false }
        return origin.isServed(at: server)
    }

    /// The methods of the API, for the response to a preflight request.
    static let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    /// The documented request headers that browsers do not allow to every page anyway.
    static let requestHeaders = ["Authorization", "Content-Type", "If-None-Match", "Idempotency-Key"]
    /// The response headers that browsers show a page only if they are listed: how long to wait, what is wrong with the
    /// token, which methods there are, and the tag of a page of the call directory.
    static let responseHeaders = ["Retry-After", "WWW-Authenticate", "Allow", "ETag"]

    /// Returns the headers that let a page of an allowed origin read a response.
    ///
    /// There are none for an origin with a character outside printable ASCII. No browser sends one, and a control
    /// character must not be copied into a header of the response.
    ///
    /// `isSocketIO`: Whether the response is Engine.IO's. Old clients send every request with credentials, and browsers
    /// then demand `Access-Control-Allow-Credentials`, although the server reads no cookies. Elsewhere, an origin that
    /// is allowed only by `*` does not get that header: a proxy in front may read cookies.
    func headers(for origin: String, isSocketIO: Bool = false) -> [HTTPField] {
        guard Self.isPrintable(origin) else { return [] }
        return allowance(origin, isSocketIO: isSocketIO) + [
            .init("Vary", "Origin"),
            .init("Access-Control-Expose-Headers", Self.responseHeaders.joined(separator: ", ")),
        ]
    }

    /// Returns the headers of the response to a browser's preflight request: the requests that its page may send.
    ///
    /// The page may send any header: libraries that trace requests add their own (`traceparent`, `sentry-trace`,
    /// `x-datadog-…`), new ones every year, and the server ignores those that it does not know. So the names are
    /// returned as they were asked for. A wildcard would not do: it is not valid for requests with credentials.
    ///
    /// There are none for an origin with a character outside printable ASCII.
    func preflightHeaders(for head: RequestHead, isSocketIO: Bool) -> [HTTPField] {
        guard let origin = head.origin, Self.isPrintable(origin) else { return [] }
        var names = Self.requestHeaders
        let known = Set(names.map { $0.lowercased() })
        for name in head.requestedHeaders.prefix(Self.mostRequestedHeaders)
        where Self.isHeaderName(name) && !known.contains(name.lowercased()) { names.append(name) }
        return allowance(origin, isSocketIO: isSocketIO) + [
            .init("Vary", "Origin"),
            .init("Access-Control-Allow-Methods", Self.methods.joined(separator: ", ")),
            .init("Access-Control-Allow-Headers", names.joined(separator: ", ")),
            .init("Access-Control-Max-Age", "600"),
        ]
    }

    private func allowance(_ origin: String, isSocketIO: Bool) -> [HTTPField] {
        let origins = HTTPField("Access-Control-Allow-Origin", origin)
        guard isSocketIO || !allowed.contains("*") || isNamed(origin) else { return [origins] }
        return [origins, .init("Access-Control-Allow-Credentials", "true")]
    }

    /// Whether the settings name an origin, so that it is not allowed by `*` alone.
    private func isNamed(_ origin: String) -> Bool {
        allowed.contains(origin) || WebOrigin(origin).map { allowed.contains($0.text) } ?? false
    }

    /// The number of requested headers that a preflight request may name; pages send a dozen at most.
    private static let mostRequestedHeaders = 64

    private static func isPrintable(_ origin: String) -> Bool { origin.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    /// Whether a text is a name of a header (RFC 9110, section 5.1).
    private static func isHeaderName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (97...122).contains(byte) || (65...90).contains(byte) || (48...57).contains(byte)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }
}
