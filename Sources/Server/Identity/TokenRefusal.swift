import JSON

/// The facts about a refused token that show why it was refused, for the operator's log.
///
/// A refusal names only what its cause is about: the header of a token whose key or algorithm does not fit, and one
/// claim of a token whose signature is valid. It never contains the token, its user or any other claim.
package struct TokenRefusal: Equatable, Sendable {
    /// The time since the token expired (`exp`), in seconds.
    package private(set) var expiredSeconds: Int64?
    /// The time until the token becomes valid (`nbf`), in seconds.
    package private(set) var earlySeconds: Int64?
    /// The `iss` of a token from another issuer; empty if it has none.
    package private(set) var issuer: String?
    /// The `aud` of a token for another audience; empty if it has none.
    package private(set) var audience: String?
    /// The `kid` of a token whose key is unknown or whose signature is wrong.
    package private(set) var keyID: String?
    /// The `alg` of a token whose algorithm no key has, or whose signature is wrong.
    package private(set) var algorithm: String?
    /// The name of the claim that is malformed.
    package private(set) var claim: String?

    /// The largest number of bytes that are shown of each text.
    private static let shownBytes = 64

    /// Reads a refused token again.
    ///
    /// - Parameters:
    ///   - error: the error with which `TokenVerifier.verify` refused the token.
    ///   - token: the token.
    ///   - now: the time at which the token was checked, in seconds since 1970.
    package init(_ error: TokenError, of token: String, atSeconds now: Int64) {
        // If the token cannot be parsed, there is nothing to show.
        let parts = token.utf8.count > TokenVerifier.maximumByteCount ? nil : try? CompactToken(Array(token.utf8))
        switch error {
        case .algorithm: algorithm = parts.map { Self.shown($0.header.algorithm) }
        case .unknownKey: keyID = parts?.header.keyID.map(Self.shown)
        case .signature:
            algorithm = parts.map { Self.shown($0.header.algorithm) }
            keyID = parts?.header.keyID.map(Self.shown)
        case .issuer: issuer = Self.text("iss", in: parts) ?? ""
        case .audience: audience = Self.text("aud", in: parts) ?? ""
        case .expired: expiredSeconds = Self.seconds("exp", in: parts).map { now - $0 }
        case .notYetValid: earlySeconds = Self.seconds("nbf", in: parts).map { $0 - now }
        case .claim(let name): claim = name
        case .tooLong, .malformed, .unsupportedHeader, .noExpiry, .noUser: break
        }
    }

    private static func shown(_ bytes: [UInt8]) -> String { String(decoding: bytes.prefix(shownBytes), as: UTF8.self) }

    private static func claim(_ name: String, in token: CompactToken?) -> JSONValue? {
        // If the payload is not a JSON object, there is no claim to show.
        guard let payload = token?.payload, case .object(let object)? = try? JSONValue(payload) else { return nil }
        return object[name]
    }

    private static func text(_ name: String, in token: CompactToken?) -> String? {
        let value = claim(name, in: token)
        let texts = value?.text.map { [$0] } ?? value?.texts
        return texts.map { shown(Array($0.joined(separator: [0x20]))) }
    }

    private static func seconds(_ name: String, in token: CompactToken?) -> Int64? {
        guard case .number(let number)? = claim(name, in: token), number.double.isFinite else { return nil }
        return Int64(min(max(number.double.rounded(.up), 0), 0x1p53))
    }
}
