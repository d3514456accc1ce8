/// Why a token is not accepted.
///
/// On the wire there are two answers: ``expired`` is `token_expired`, everything else `unauthenticated`. The reasons are for
/// the log and the message; they never hold any part of the token.
public enum TokenError: Error, Sendable, Equatable, CustomStringConvertible {
    /// It was good until `exp`, and the leeway is over too.
    case expired
    /// More than ``TokenVerifier/maximumByteCount`` bytes.
    case tooLong
    /// Not three base64url parts of which the first two are JSON objects.
    case malformed
    /// The header asks for what must be understood and is not (`crit`, `b64`, `enc`) or says that it is no access token.
    case unsupportedHeader
    /// The header's `alg` is the algorithm of no configured key.
    case algorithm
    /// The header's `kid` is the name of no configured key of that algorithm.
    case unknownKey
    /// The signature is not that of the key.
    case signature
    /// There is no `exp`, and it is required.
    case noExpiry
    /// It is not good yet, by `nbf`.
    case notYetValid
    /// Its `iss` is not the configured one.
    case issuer
    /// Its `aud` does not hold the configured one.
    case audience
    /// There is no claim that names the user.
    case noUser
    /// A claim, whose name it carries, is not of the form that it must have.
    case claim(String)

    /// One word for counts and the audit log.
    public var cause: String {
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

    /// Every ``cause`` that there is.
    public static let causes = [
        expired, tooLong, malformed, unsupportedHeader, algorithm, unknownKey, signature, noExpiry, notYetValid, issuer,
        audience, noUser, claim(""),
    ].map(\.cause)

    /// One sentence in plain words.
    public var description: String {
        switch self {
        case .expired: "the token has expired"
        case .tooLong: "the token is longer than \(TokenVerifier.maximumByteCount) bytes"
        case .malformed: "the token is not a well-formed signed JWT"
        case .unsupportedHeader: "the token's header asks for something that is not supported"
        case .algorithm: "the token's algorithm is not that of any configured key"
        case .unknownKey: "the token's key id is not that of any configured key"
        case .signature: "the token's signature is wrong"
        case .noExpiry: "the token has no expiry (exp)"
        case .notYetValid: "the token is not valid yet (nbf)"
        case .issuer: "the token is from another issuer (iss)"
        case .audience: "the token is for another audience (aud)"
        case .noUser: "the token names no user"
        case .claim(let name): "the token's claim \(name) is not acceptable"
        }
    }
}
