/// Why a key could not be read, made or used.
public enum KeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text holds no PEM block (RFC 7468).
    case notPEM
    /// The text holds several keys where one is wanted.
    case several
    /// The key is protected by a passphrase.
    case encrypted
    /// A private key where a public one is wanted.
    case privateKey
    /// A public key or a certificate where a private key is wanted.
    case publicKey
    /// A key of another kind than is wanted; says which are.
    case unsupported(String)
    /// An RSA key that is too short or too long to be used; its length in bits.
    case keyLength(Int)
    /// The key's numbers are no key: broken encoding, a point that is not on the curve.
    case invalid
    /// OpenSSL could not do it: out of memory, no random bytes.
    case failed

    /// One sentence in plain words, without the key.
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
