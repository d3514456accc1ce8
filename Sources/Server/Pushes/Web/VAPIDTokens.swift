import Crypto
import JSON
import Threads

/// The VAPID tokens, by which push services know this server: an ES256 JWT for each service.
///
/// A token is kept and used again for hours, because each one costs a signature. It is valid for 12 hours at most, and is
/// renewed an hour before its end. If the wall clock jumps, tokens that would end too early or too late are renewed too.
///
/// Source: RFC 8292, section 2, which allows at most 24 hours.
final class VAPIDTokens: Sendable {
    /// How long a token is valid, in seconds.
    static let life: Int64 = 12 * 3_600
    /// How long before its end a token is renewed, in seconds.
    static let renewedBefore: Int64 = 3_600
    /// The largest number of services whose tokens are kept; Microsoft's service has many hosts.
    static let maximumCount = 256

    private struct Token {
        let text: String
        let endsAt: Int64
    }

    private let configuration: WebPushConfiguration
    /// The tokens by the origin of their push service.
    private let tokens = Monitor<[String: Token]>([:])

    init(_ configuration: WebPushConfiguration) { self.configuration = configuration }

    /// Returns the value of the header `authorization` for a push service.
    func authorization(for origin: String) throws(KeyError) -> String {
        let now = configuration.clock() / 1_000
        let text = try tokens.withLock { (tokens: inout [String: Token]) throws(KeyError) -> String in
            if let token = tokens[origin], (Self.renewedBefore...Self.life).contains(token.endsAt - now) {
                return token.text
            }
            let token = Token(text: try make(for: origin, until: now + Self.life), endsAt: now + Self.life)
            if tokens.count >= Self.maximumCount { tokens = [:] }
            tokens[origin] = token
            return token.text
        }
        return "vapid t=\(text), k=\(configuration.applicationServerKey)"
    }

    private func make(for origin: String, until seconds: Int64) throws(KeyError) -> String {
        var claims = JSONWriter()
        claims.beginObject()
        claims.name("aud")
        claims.value(origin)
        claims.name("exp")
        claims.value(seconds)
        claims.name("sub")
        claims.value(configuration.subject)
        claims.endObject()
        let header = Array(#"{"typ":"JWT","alg":"ES256"}"#.utf8)
        return try CompactJWS.text(header: header, payload: claims.bytes, sign: configuration.key.sign)
    }
}
