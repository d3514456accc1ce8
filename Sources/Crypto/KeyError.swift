/// Why a key could not be read, made or used.
public enum KeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text contains no PEM block (RFC 7468).
    case notPEM
    /// The text contains several keys, but one is wanted.
    case several
    /// The key is protected by a passphrase.
    case encrypted
    /// The key is private, but a public key is wanted.
    case privateKey
    /// The key is public, or a certificate, but a private key is wanted.
    case publicKey
    /// The key is of another kind than wanted; the value names the wanted kinds.
    case unsupported(String)
    /// The RSA key is too short or too long; the value is its length in bits.
    case keyLength(Int)
    /// The key is not valid: its encoding is broken, or its point is not on the curve.
    case invalid
    /// OpenSSL failed: out of memory, or no random bytes.
    case failed

    /// One sentence in plain words that does not contain the key.
    public var description: String {
        switch self {
        case .notPEM: "there is no PEM block (-----BEGIN …-----) in it"
        case .several: "it holds several keys; one is wanted (several public keys go into a JWKS file)"
        case .encrypted: "the key is protected by a passphrase; store it without one"
        case .privateKey: "it is a private key; the public key is wanted"
        case .publicKey: "it is a public key; the private key is wanted"
        case .unsupported(let wanted): "the key is of another kind; wanted: \(wanted)"
        case .keyLength(let bits): "the RSA key has \(bits) bits; 2048 to 8192 are accepted"
        case .invalid: "the key is broken"
        case .failed: "OpenSSL could not use the key"
        }
    }
}
