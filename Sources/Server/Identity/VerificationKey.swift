package import Crypto
import JSON

/// A source of keys for verifying tokens.
package enum TokenKeySource: Sendable {
    /// A secret for HS256: the raw bytes of its file.
    case secret([UInt8])
    /// The text of a public key's file (PEM): an EC key on P-256 is for ES256, an RSA key for RS256.
    case publicKey(pem: String)
    /// The contents of a JWKS file (RFC 7517, section 5) with keys of `kty` EC, RSA and oct; a token chooses among them
    /// by `kid`.
    case keySet(json: [UInt8])
    /// A published JWKS: anyone can read it, so a secret in it is not secret and is skipped.
    case publishedKeySet(json: [UInt8])
}

/// Why the configured keys cannot be used.
package enum TokenKeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No key is configured.
    case noKeys
    /// The HS256 secret is empty.
    case emptySecret
    /// The HS256 secret is a PEM or JWKS text. Such a file may be public, and anyone who has it could sign tokens.
    case secretIsKeyFile
    /// The public key cannot be used.
    case publicKey(KeyError)
    /// The key set is not a JSON object with an array `keys`.
    case keySetSyntax
    /// The key set has no usable key; the value has the reason for each key.
    case keySetUseless([String])
    /// There are more than ``TokenVerifier/maximumKeyCount`` keys.
    case tooManyKeys

    /// One sentence in plain words that contains no key.
    package var description: String {
        switch self {
        case .noKeys: "no key to verify tokens is configured"
        case .emptySecret: "the HS256 secret is empty"
        case .secretIsKeyFile:
            "the HS256 secret is a public key or a key set; configure it as the public key or key set, not as the secret"
        case .publicKey(let error): "the public key cannot be used: \(error)"
        case .keySetSyntax: "the JWKS is not a JSON object with an array \"keys\""
        case .keySetUseless(let reasons):
            (["the JWKS has no usable key; usable are EC P-256, RSA of at least 2048 bits, and oct"] + reasons.prefix(8))
                .joined(separator: "; ")
        case .tooManyKeys:
            "too many keys to verify tokens are configured; at most \(TokenVerifier.maximumKeyCount) are allowed"
        }
    }
}

/// One key and the one algorithm that it is for.
///
/// A token is verified by the key's algorithm; the token never chooses the algorithm.
struct VerificationKey: Sendable {
    enum Material: Sendable {
        case secret([UInt8])
        case publicKey(PublicKey)
    }

    /// The key's id, by which a token asks for it; nil: the key fits any token.
    let id: [UInt8]?
    let material: Material

    /// The `alg` of the tokens that the key verifies (RFC 7518, section 3.1).
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

    /// Creates a key from a configured secret, which has no id.
    init(secret: [UInt8]) throws(TokenKeyError) {
        guard !secret.isEmpty else { throw .emptySecret }
        let start = secret.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard !start.starts(with: "-----BEGIN ".utf8), !Self.looksLikeKeySet(secret) else { throw .secretIsKeyFile }
        self.init(id: nil, material: .secret(secret))
    }

    private static func looksLikeKeySet(_ secret: [UInt8]) -> Bool {
        // A secret should not be JSON, so a parse error is the normal case.
        guard case .object(let object)? = try? JSONValue(secret) else { return false }
        return object["keys"] != nil || object["kty"] != nil
    }
}
