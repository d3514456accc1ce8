/// Why a token is not accepted.
///
/// On the wire there are two codes: ``expired`` becomes `token_expired`, everything else `unauthenticated`. The reasons
/// go to the log and into the error message; they never contain any part of the token.
package enum TokenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The token was valid until `exp`, and the leeway is over too.
    case expired
    /// The token has more than ``TokenVerifier/maximumByteCount`` bytes.
    case tooLong
    /// The token is not three base64url parts of which the first two are JSON objects.
    case malformed
    /// The header is not supported.
    ///
    /// It contains a member that a verifier must support but this verifier does not (`crit`, `b64`, `enc`), or its
    /// `typ` is not that of an access token.
    case unsupportedHeader
    /// The header's `alg` is not the algorithm of any configured key.
    case algorithm
    /// The header's `kid` is not the id of any configured key of that algorithm.
    case unknownKey
    /// The signature is not valid under any key that fits the token.
    case signature
    /// The token has no `exp`, but one is required.
    case noExpiry
    /// The token is not valid yet, by its `nbf`.
    case notYetValid
    /// The token's `iss` is not the configured one.
    case issuer
    /// The token's `aud` does not contain the configured one.
    case audience
    /// The token has no claim that names the user.
    case noUser
    /// A claim is malformed; the value is the claim's name.
    case claim(String)

    /// One word for counters and the audit log.
    package var cause: String {
        switch self {
        case .expired: "expired"
        case .tooLong: "too_long"
        case .malformed: "malformed"
        case .unsupportedHeader: "unsupported_header"
        case .algorithm: "algorithm"
        case .unknownKey: "unknown_key"
        case .signature: "signature"
        case .noExpiry: "no_expiry"
        case .notYetValid: "not_yet_valid"
        case .issuer: "issuer"
        case .audience: "audience"
        case .noUser: "no_user"
        case .claim: "claim"
        }
    }

    /// All values of ``cause``.
    package static let causes = [
        expired, tooLong, malformed, unsupportedHeader, algorithm, unknownKey, signature, noExpiry, notYetValid, issuer,
        audience, noUser, claim(""),
    ].map(\.cause)

    /// One sentence in plain words.
    package var description: String {
        switch self {
        case .expired: "the token has expired"
        case .tooLong: "the token is longer than \(TokenVerifier.maximumByteCount) bytes"
        case .malformed: "the token is not a well-formed signed JWT"
        case .unsupportedHeader: "the token's header needs an unsupported feature"
        case .algorithm: "no configured key has the token's algorithm"
        case .unknownKey: "no configured key has the token's key id"
        case .signature: "the token's signature is wrong"
        case .noExpiry: "the token has no expiry (exp)"
        case .notYetValid: "the token is not valid yet (nbf)"
        case .issuer: "the token is from another issuer (iss)"
        case .audience: "the token is for another audience (aud)"
        case .noUser: "the token names no user"
        case .claim(let name): "the token's claim \(name) is invalid"
        }
    }
}
