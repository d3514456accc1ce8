import Crypto

/// Says who a JWT's bearer is (RFC 7519, by the rules of RFC 8725).
///
/// Its keys say which algorithm each is for; a token must name one of these and nothing else. Made once, used from any
/// thread; it keeps nothing of the tokens that it has seen.
public struct TokenVerifier: Sendable {
    /// Longer tokens are refused unread: HTTP servers take headers of about that size, and no honest token comes near.
    public static let maximumByteCount = 12_288
    /// How many keys there may be: a token without `kid` may have to be held against each.
    public static let maximumKeyCount = 64
    /// HS256 secrets shorter than this, in bytes, are warned about (RFC 7518, section 3.2).
    public static let minimumSecretByteCount = 32

    /// What the verifier demands of claims.
    public let rules: TokenRules
    /// One sentence for each thing about the keys that the operator should know; without any key.
    public let warnings: [String]
    /// The algorithms that tokens may have, in the order of the keys: for the log at start.
    public var algorithms: [String] {
        keys.reduce(into: []) { if !$0.contains($1.algorithm) { $0.append($1.algorithm) } }
    }

    /// How many keys there are.
    public var keyCount: Int { keys.count }

    private let keys: [VerificationKey]

    /// A verifier with the keys of all sources.
    ///
    /// - Throws: ``TokenKeyError`` if a source cannot be used or there is none.
    public init(keys sources: [TokenKeySource], rules: TokenRules = TokenRules()) throws(TokenKeyError) {
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

    /// What to tell the operator about an HS256 secret: that it is too short to be safe; nil if it is long enough.
    public static func warning(forSecret secret: [UInt8]) -> String? {
        guard secret.count < minimumSecretByteCount else { return nil }
        return
            "the HS256 secret has \(secret.count) bytes; under \(minimumSecretByteCount) it can be guessed (RFC 7518)"
    }

    /// Verifies a token: its signature, then its claims, then its time.
    ///
    /// - Parameters:
    ///   - token: the compact JWT, as it was sent; any bytes.
    ///   - now: seconds since 1970.
    /// - Returns: what the token says.
    /// - Throws: ``TokenError``; ``TokenError/expired`` only for a token that is good in every other respect.
    public func verify(_ token: [UInt8], atSeconds now: Int64) throws(TokenError) -> Claims {
        guard token.count <= Self.maximumByteCount else { throw .tooLong }
        let parts = try CompactToken(token)
        try authenticate(parts)
        let content = try TokenContent(payload: parts.payload, token: token, rules: rules)
        try content.checkTime(atSeconds: now, rules: rules)
        return content.claims
    }

    /// Verifies a token given as text.
    public func verify(_ token: some StringProtocol, atSeconds now: Int64) throws(TokenError) -> Claims {
        // The count first: what is too long is not even copied.
        guard token.utf8.count <= Self.maximumByteCount else { throw .tooLong }
        return try verify(Array(token.utf8), atSeconds: now)
    }

    /// Finds a key that the token is signed with.
    private func authenticate(_ token: CompactToken) throws(TokenError) {
        let fitting = keys.filter { token.header.algorithm == Array($0.algorithm.utf8) }
        guard !fitting.isEmpty else { throw .algorithm }
        // A key without a name fits any token; a named one fits a token that names it or none.
        let named = fitting.filter { $0.id == nil || token.header.keyID == nil || $0.id == token.header.keyID }
        guard !named.isEmpty else { throw .unknownKey }
        for key in named where token.isSigned(with: key) { return }
        throw .signature
    }
}
