import COpenSSL

/// A private RSA key that signs by RS256 (RFC 7518, section 3.3), as the service accounts of Google require.
///
/// A key is made once and used from any thread.
package struct RSASigningKey: Sendable {
    private let key: KeyHandle

    /// Reads the key from a PEM text.
    ///
    /// - Parameter pem: PKCS#8 (`PRIVATE KEY`, as Google gives it out) or PKCS#1 (`RSA PRIVATE KEY`), without a
    ///   passphrase; 2,048 to 8,192 bits.
    /// - Throws: ``KeyError`` if there is no PEM, an encrypted key, a public key, another kind of key, a length out of
    ///   range, or a public half that does not belong to the private half.
    package init(pem: String) throws(KeyError) {
        key = try KeyHandle(privatePEM: pem, "RSA PRIVATE KEY", "an RSA private key", if: \.isRSA)
        let bits = Int(EVP_PKEY_get_bits(key.pointer))
        guard (PublicKey.minimumRSABits...PublicKey.maximumRSABits).contains(bits) else { throw .keyLength(bits) }
    }

    /// Signs the SHA-256 digest of a message by RSASSA-PKCS1-v1_5.
    ///
    /// - Returns: as many bytes as the key's modulus has.
    /// - Throws: ``KeyError/failed``.
    package func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] { try key.signature(of: message) }
}
