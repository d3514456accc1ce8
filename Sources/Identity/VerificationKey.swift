public import Crypto

/// Where keys come from that tokens are verified with.
public enum TokenKeySource: Sendable {
    /// A secret for HS256: the bytes of its file, used raw.
    case secret([UInt8])
    /// The text of a public key's file (PEM): EC on P-256 is for ES256, RSA for RS256.
    case publicKey(pem: String)
    /// The contents of a JWKS file (RFC 7517, section 5): keys of `kty` EC, RSA and oct, chosen by `kid`.
    case keySet(json: [UInt8])
    /// A JWKS as it was published: for everybody to read, so that a secret in it is none.
    case publishedKeySet(json: [UInt8])
}

/// Why the configured keys cannot be used.
public enum TokenKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// There is no key at all.
    case noKeys
    /// The HS256 secret is empty.
    case emptySecret
    /// The HS256 secret is a PEM or JWKS text: whoever has that file, which may well be public, could sign tokens.
    case secretIsKeyFile
    /// The public key cannot be used.
    case publicKey(KeyError)
    /// The key set is no JSON object with an array `keys`.
    case keySetSyntax
    /// The key set has no key that can be used; says of each why not.
    case keySetUseless([String])
    /// More than ``TokenVerifier/maximumKeyCount`` keys.
    case tooManyKeys

    /// One sentence in plain words, without any key.
    public var description: String {
        switch self {
        case .noKeys: "no key to verify tokens with is configured"
        case .emptySecret: "the HS256 secret is empty"
        case .secretIsKeyFile: "the HS256 secret is a public key or key set; configure it as such"
        case .publicKey(let error): "the public key cannot be used: \(error)"
        case .keySetSyntax: "the JWKS is not a JSON object with an array \"keys\""
        case .keySetUseless(let reasons):
            (["the JWKS has no key that can be used (EC P-256, RSA from 2048 bits, oct)"] + reasons.prefix(8))
                .joined(separator: "; ")
        case .tooManyKeys: "more than \(TokenVerifier.maximumKeyCount) keys are configured"
        }
    }
}

/// One key and the one algorithm that it is for.
///
/// Tokens are held against it; they never choose how.
struct VerificationKey: Sendable {
    enum Material: Sendable {
        case secret([UInt8])
        case publicKey(PublicKey)
    }

    /// The name by which a token asks for it; nil: it fits any token.
    let id: [UInt8]?
    let material: Material

    /// The `alg` of the tokens that it verifies (RFC 7518, section 3.1).
    var algorithm: String {
        switch material {
        case .secret: "HS256"
        case .publicKey(let key): key.algorithm.rawValue
        }
    }

    func isValid(_ signature: [UInt8], for message: Span<UInt8>) -> Bool {
        switch material {
        case .secret(let secret): HMACSHA256.isValid(signature, for: message, key: secret)
        case .publicKey(let key): key.isValid(signature, for: message)
        }
    }

    init(id: [UInt8]?, material: Material) {
        self.id = id
        self.material = material
    }

    /// A key of the configuration, which has no name.
    init(secret: [UInt8]) throws(TokenKeyError) {
        guard !secret.isEmpty else { throw .emptySecret }
        let start = secret.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard !start.starts(with: "-----BEGIN ".utf8), !Self.looksLikeKeySet(secret) else { throw .secretIsKeyFile }
        self.init(id: nil, material: .secret(secret))
    }

    private static func looksLikeKeySet(_ secret: [UInt8]) -> Bool {
        // No JSON is what a secret should be, so the error says nothing.
        guard case .object(let object)? = try? JSONParser.parse(secret) else { return false }
        return object["keys"] != nil || object["kty"] != nil
    }
}
