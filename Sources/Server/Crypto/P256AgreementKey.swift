import COpenSSL

/// A private P-256 key for a Diffie-Hellman key agreement (ECDH, SP 800-56A), as Web Push uses it (RFC 8291).
///
/// A key is made once and used from any thread.
package struct P256AgreementKey: Sendable {
    private let key: KeyHandle

    /// Reads the key from a PEM text: PKCS#8 (`PRIVATE KEY`) or SEC 1 (`EC PRIVATE KEY`), without a passphrase.
    ///
    /// - Throws: ``KeyError``, as ``P256SigningKey/init(pem:)`` does.
    package init(pem: String) throws(KeyError) {
        key = try KeyHandle(privatePEM: pem, "EC PRIVATE KEY", "an EC private key on P-256", if: \.isP256)
    }

    private init(_ key: KeyHandle) { self.key = key }

    /// Returns a new random key.
    ///
    /// - Throws: ``KeyError/failed``.
    package static func generate() throws(KeyError) -> P256AgreementKey {
        P256AgreementKey(try KeyHandle.generatedP256())
    }

    /// The public half of the key.
    package var publicKey: PublicKey { PublicKey(p256: key) }

    /// Returns the secret that this key shares with the owner of another key: the x coordinate, 32 bytes.
    ///
    /// Wraps `EVP_PKEY_derive`.
    ///
    /// - Throws: ``KeyError/failed``, also if the other key is not on P-256.
    package func sharedSecret(with other: PublicKey) throws(KeyError) -> [UInt8] {
        try withoutErrorQueue { () throws(KeyError) in
            guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else { throw .failed }
            defer { EVP_PKEY_CTX_free(context) }
            var secret = [UInt8](repeating: 0, count: 32)
            var count = secret.count
            guard EVP_PKEY_derive_init(context) == 1,
                EVP_PKEY_derive_set_peer(context, other.handle.pointer) == 1,
                EVP_PKEY_derive(context, &secret, &count) == 1, count == secret.count
            else { throw .failed }
            return secret
        }
    }
}
