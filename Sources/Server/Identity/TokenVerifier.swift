import Crypto

/// The verifier of JWTs (RFC 7519, by the rules of RFC 8725): it checks a token and returns the token's claims.
///
/// Each of its keys determines one algorithm; a token must name one of these algorithms. A verifier is made once and
/// used from any thread. It stores nothing about the tokens that it verifies.
package struct TokenVerifier: Sendable {
    /// The length above which a token is refused unread, in bytes.
    ///
    /// HTTP servers accept headers of about this size, and a genuine token is much shorter.
    package static let maximumByteCount = 12_288
    /// The largest number of keys.
    ///
    /// It is limited because a token without `kid` may have to be checked with each of them.
    package static let maximumKeyCount = 64
    /// The length in bytes below which an HS256 secret causes a warning (RFC 7518, section 3.2).
    package static let minimumSecretByteCount = 32

    /// The requirements on claims.
    package let rules: TokenRules
    /// The warnings about the keys for the operator, each in one sentence that contains no key.
    package let warnings: [String]
    /// The algorithms that tokens may have, in the order of the keys, for the log at the start.
    package var algorithms: [String] {
        keys.reduce(into: []) { if !$0.contains($1.algorithm) { $0.append($1.algorithm) } }
    }

    /// The number of keys.
    package var keyCount: Int { keys.count }

    private let keys: [VerificationKey]

    /// Creates a verifier with the keys of all sources.
    ///
    /// - Throws: ``TokenKeyError`` if a source cannot be used, or there are no keys or too many.
    package init(keys sources: [TokenKeySource], rules: TokenRules = TokenRules()) throws(TokenKeyError) {
        var keys: [VerificationKey] = []
        var warnings: [String] = []
        for source in sources {
            switch source {
            case .secret(let secret):
                keys.append(try VerificationKey(secret: secret))
            case .publicKey(let pem):
                do {
                    keys.append(VerificationKey(id: nil, material: .publicKey(try PublicKey(pem: pem))))
                } catch {
                    throw .publicKey(error)
                }
            case .keySet(let json), .publishedKeySet(let json):
                let isPublished = if case .publishedKeySet = source { true } else { false }
                let set = try KeySet(json: json, isPublished: isPublished)
                keys += set.keys
                warnings += set.warnings
            }
        }
        guard !keys.isEmpty else { throw .noKeys }
        guard keys.count <= Self.maximumKeyCount else { throw .tooManyKeys }
        for case .secret(let secret) in keys.map(\.material) {
            if let warning = Self.warning(forSecret: secret) { warnings.append(warning) }
        }
        self.keys = keys
        self.warnings = warnings
        self.rules = rules
    }

    /// Returns the operator's warning that an HS256 secret is too short to be safe; nil if it is long enough.
    package static func warning(forSecret secret: [UInt8]) -> String? {
        guard secret.count < minimumSecretByteCount else { return nil }
        return
            "the HS256 secret has \(secret.count) bytes; under \(minimumSecretByteCount) it can be guessed (RFC 7518)"
    }

    /// Verifies a token: its signature, then its claims, then its time.
    ///
    /// - Parameters:
    ///   - token: the compact JWT as it was sent; it may be any bytes.
    ///   - now: seconds since 1970.
    /// - Returns: the claims of the token.
    /// - Throws: ``TokenError``; ``TokenError/expired`` only for a token that is valid in every other respect.
    package func verify(_ token: [UInt8], atSeconds now: Int64) throws(TokenError) -> Claims {
        guard token.count <= Self.maximumByteCount else { throw .tooLong }
        let parts = try CompactToken(token)
        try authenticate(parts)
        let content = try TokenContent(payload: parts.payload, token: token, rules: rules)
        try content.checkTime(atSeconds: now, rules: rules)
        return content.claims
    }

    /// Verifies a token that is given as text.
    package func verify(_ token: some StringProtocol, atSeconds now: Int64) throws(TokenError) -> Claims {
        // The length is checked first, so that a text that is too long is not even copied.
        guard token.utf8.count <= Self.maximumByteCount else { throw .tooLong }
        return try verify(Array(token.utf8), atSeconds: now)
    }

    /// Finds a key with which the token is signed.
    private func authenticate(_ token: CompactToken) throws(TokenError) {
        let fitting = keys.filter { token.header.algorithm == Array($0.algorithm.utf8) }
        guard !fitting.isEmpty else { throw .algorithm }
        // A key without an id fits any token; a key with an id fits a token that names this id or none.
        let named = fitting.filter { $0.id == nil || token.header.keyID == nil || $0.id == token.header.keyID }
        guard !named.isEmpty else { throw .unknownKey }
        for key in named where token.isSigned(with: key) { return }
        throw .signature
    }
}
