/// Why a key or a certificate could not be read, made or used.
public enum KeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text contains no PEM block (RFC 7468).
    case notPEM
    /// The text contains several keys instead of one.
    case several
    /// The key is protected by a passphrase.
    case encrypted
    /// The key is private instead of public.
    case privateKey
    /// The key is public, or a certificate, instead of private.
    case publicKey
    /// The key is of the wrong kind; the value names the expected kinds.
    case unsupported(String)
    /// The RSA key is too short or too long; the value is its length in bits.
    case keyLength(Int)
    /// The key is not valid: its encoding is malformed, or its point is not on the curve.
    case invalid
    /// The text has PEM blocks, but no certificate among them.
    case noCertificate
    /// The encoding of the certificate is malformed.
    case invalidCertificate
    /// OpenSSL failed: out of memory, or no random bytes.
    case failed

    /// One sentence in plain words that does not contain the key.
    public var description: String {
        switch self {
        case .notPEM: "it has no PEM block (-----BEGIN …-----)"
        case .several: "it holds several keys, but must hold one (several public keys go into a JWKS file)"
        case .encrypted: "the key is protected by a passphrase; store it without one"
        case .privateKey: "it is a private key, but must be a public key"
        case .publicKey: "it is a public key, but must be a private key"
        case .unsupported(let wanted): "wrong kind of key: it must be \(wanted)"
        case .keyLength(let bits): "the RSA key has \(bits) bits; it must have 2048 to 8192"
        case .invalid: "the key is malformed"
        case .noCertificate: "it contains no certificate"
        case .invalidCertificate: "the certificate is malformed"
        case .failed: "OpenSSL could not use the key"
        }
    }
}
