import Crypto

/// An issuer of tokens signed by HS256, for `ringline token` and for tests.
public struct TokenIssuer: Sendable {
    private let secret: [UInt8]
    private let userClaim: String
    private let issuer: String?
    private let audience: String?

    /// Creates an issuer whose tokens a ``TokenVerifier`` with the same secret and rules accepts.
    ///
    /// - Parameters:
    ///   - secret: the bytes of the HS256 secret, used raw.
    ///   - rules: the user claim (`sub` if it is nil), the issuer and the audience of these rules go into the tokens.
    public init(secret: [UInt8], rules: TokenRules = TokenRules()) {
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
    ///   - ttlSeconds: how long the token is valid, from `now`; below zero: it has expired.
    ///   - now: seconds since 1970.
    /// - Returns: the token.
    public func issue(
        user: String,
        name: String? = nil,
        device: String? = nil,
        rooms: [String] = [],
        service: Bool = false,
        ttlSeconds: Int64 = 3600,
        now: Int64
    ) -> String {
        let (expiry, overflow) = now.addingReportingOverflow(ttlSeconds)
        var members: [(String, String)] = [(userClaim, JSONText.string(user))]
        if let name { members.append(("name", JSONText.string(name))) }
        if let device { members.append(("device", JSONText.string(device))) }
        if !rooms.isEmpty { members.append(("rooms", JSONText.array(rooms))) }
        if service { members.append(("scope", JSONText.string("server"))) }
        if let issuer { members.append(("iss", JSONText.string(issuer))) }
        if let audience { members.append(("aud", JSONText.string(audience))) }
        members.append(("iat", String(now)))
        members.append(("exp", String(overflow ? .max : expiry)))
        members.append(("jti", JSONText.string(Base64URL.encode(SecureRandom.bytes(16)))))
        return sign(payload: JSONText.object(members))
    }

    /// Returns a compact JWT with a payload.
    func sign(payload: String) -> String {
        let header = #"{"alg":"HS256","typ":"JWT"}"#
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(payload.utf8))
        return signed + "." + Base64URL.encode(HMACSHA256.code(of: Array(signed.utf8), key: secret))
    }
}

/// JSON text as it is written into tokens.
private enum JSONText {
    static func object(_ members: [(String, String)]) -> String {
        "{" + members.map { "\(string($0)):\($1)" }.joined(separator: ",") + "}"
    }

    static func array(_ texts: [String]) -> String { "[" + texts.map(string).joined(separator: ",") + "]" }

    static func string(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..<"\u{20}": quoted += "\\u00" + Hex.encode([UInt8(scalar.value)])
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
