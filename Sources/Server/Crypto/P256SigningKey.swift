import COpenSSL

/// A private P-256 key that signs by ES256 (RFC 7518, section 3.4), as APNs' provider tokens require.
///
/// A key is made once and used from any thread.
package struct P256SigningKey: Sendable {
    private let key: KeyHandle

    /// Reads the key from a PEM text.
    ///
    /// - Parameter pem: PKCS#8 (`PRIVATE KEY`, Apple's `.p8`) or SEC 1 (`EC PRIVATE KEY`), without a passphrase.
    /// - Throws: ``KeyError`` if there is no PEM, an encrypted key, a public key, another kind of key, or a
    ///   public half that does not belong to the private half.
    package init(pem: String) throws(KeyError) {
        key = try KeyHandle(privatePEM: pem, "EC PRIVATE KEY", "an EC private key on P-256", if: \.isP256)
    }

    private init(_ key: KeyHandle) { self.key = key }

    /// Returns a new random key.
    ///
    /// - Throws: ``KeyError/failed``.
    package static func generate() throws(KeyError) -> P256SigningKey {
        P256SigningKey(try KeyHandle.generatedP256())
    }

    /// Signs the SHA-256 digest of a message by ECDSA.
    ///
    /// Wraps `EVP_DigestSign`.
    ///
    /// - Returns: the 64 bytes r‖s.
    /// - Throws: ``KeyError/failed``.
    package func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        guard let raw = ECDSASignature.raw(try key.signature(of: message)) else { throw .failed }
        return raw
    }

    /// The public half of the key.
    package var publicKey: PublicKey { PublicKey(p256: key) }

    /// Returns the private key as PKCS#8 PEM.
    ///
    /// The text is a secret. Wraps `PEM_write_bio_PKCS8PrivateKey`.
    ///
    /// - Throws: ``KeyError/failed``.
    package func pem() throws(KeyError) -> String {
        let text = withoutErrorQueue {
            textWritten { PEM_write_bio_PKCS8PrivateKey($0, key.pointer, nil, nil, 0, nil, nil) }
        }
        guard let text else { throw .failed }
        return text
    }
}
