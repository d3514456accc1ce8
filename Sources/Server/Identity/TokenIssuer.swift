import Crypto
import JSON

/// An issuer of tokens signed by HS256, for `ringline token` and for tests.
package struct TokenIssuer: Sendable {
    private let secret: [UInt8]
    private let userClaim: String
    private let issuer: String?
    private let audience: String?

    /// Creates an issuer whose tokens a ``TokenVerifier`` with the same secret and rules accepts.
    ///
    /// - Parameters:
    ///   - secret: the bytes of the HS256 secret, used raw.
    ///   - rules: the rules whose user claim (`sub` if nil), issuer and audience go into the tokens.
    package init(secret: [UInt8], rules: TokenRules = TokenRules()) {
        self.secret = secret
        userClaim = rules.userClaim ?? "sub"
        issuer = rules.issuer
        audience = rules.audience
    }

    /// Returns a compact JWT (RFC 7519) with `iat`, `exp` and a random `jti`.
    ///
    /// A parameter that is not given adds no claim. Nothing is checked: a test may want a token that is refused.
    ///
    /// - Parameters:
    ///   - user: the user's id; it is a string in the token, even if it consists of digits.
    ///   - name: the display name.
    ///   - device: the device's id.
    ///   - rooms: full names of the group rooms that the user may join.
    ///   - service: whether the token is for a service (`"scope":"server"`).
    ///   - ttlSeconds: how long the token is valid, from `now`; with a negative value the token has already expired.
    ///   - now: seconds since 1970.
    /// - Returns: the token.
    package func issue(
        user: String,
        name: String? = nil,
        device: String? = nil,
        rooms: [String] = [],
        service: Bool = false,
        ttlSeconds: Int64 = 3600,
        now: Int64
    ) -> String {
        let (expiry, overflow) = now.addingReportingOverflow(ttlSeconds)
        var json = JSONWriter()
        json.beginObject()
        func member(_ name: String, _ text: String?) {
            guard let text else { return }
            json.name(escaping: name)
            json.value(text)
        }
        member(userClaim, user)
        member("name", name)
        member("device", device)
        if !rooms.isEmpty {
            json.name("rooms")
            json.beginArray()
            for room in rooms { json.value(room) }
            json.endArray()
        }
        member("scope", service ? "server" : nil)
        member("iss", issuer)
        member("aud", audience)
        json.name("iat")
        json.value(now)
        json.name("exp")
        json.value(overflow ? Int64.max : expiry)
        member("jti", Base64URL.encode(SecureRandom.bytes(16)))
        json.endObject()
        return sign(payload: json.bytes)
    }

    /// Returns a signed compact JWT with this payload.
    private func sign(payload: [UInt8]) -> String {
        let header = #"{"alg":"HS256","typ":"JWT"}"#
        return CompactJWS.text(header: Array(header.utf8), payload: payload) { HMACSHA256.code(of: $0, key: secret) }
    }
}
