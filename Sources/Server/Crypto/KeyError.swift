/// Why a key or a certificate could not be read, made or used.
package enum KeyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text contains no PEM block (RFC 7468).
    case notPEM
    /// The text contains the first line of a PEM block, but no block that can be read.
    case damagedPEM
    /// The text contains several keys instead of one.
    case several
    /// The key is protected by a passphrase.
    case encrypted
    /// The key is private instead of public.
    case privateKey
    /// The key is public, or a certificate, instead of private.
    case publicKey
    /// The text is something else than what is wanted; both in words.
    case otherKind(String, wanted: String)
    /// The RSA key is too short or too long; the value is its length in bits.
    case keyLength(Int)
    /// The key is not valid: its encoding is malformed, or its point is not on the curve.
    case invalid
    /// The encoding of the certificate is malformed.
    case invalidCertificate
    /// OpenSSL failed: out of memory, or no random bytes.
    case failed

    /// One sentence in plain words that does not contain the key.
    package var description: String {
        switch self {
        case .notPEM: "it has no PEM block (-----BEGIN …-----)"
        case .damagedPEM:
            "its PEM block cannot be read: a part of it is missing, or a character that base64 does not have was added"
        case .several: "it holds several keys, but must hold one (several public keys go into a JWKS file)"
        case .encrypted: "the key is protected by a passphrase; store it without one (openssl pkey -in FILE -out NEW)"
        case .privateKey: "it is a private key, but must be a public key"
        case .publicKey: "it is a public key, but must be a private key"
        case .otherKind(let kind, let wanted): "it is \(kind), but must be \(wanted)"
        case .keyLength(let bits): "the RSA key has \(bits) bits; it must have 2048 to 8192"
        case .invalid: "the key is malformed"
        case .invalidCertificate: "the certificate is malformed"
        case .failed: "OpenSSL could not use the key"
        }
    }
}
