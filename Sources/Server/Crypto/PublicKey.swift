import COpenSSL

/// A public key that verifies signatures of one algorithm, which follows from the kind of key: P-256 → ES256, RSA →
/// RS256.
///
/// A key is made once and used from any thread.
package struct PublicKey: Sendable {
    /// The algorithm of a key (RFC 7518, section 3.1).
    package enum Algorithm: String, Sendable, Equatable {
        /// ECDSA on P-256 with SHA-256.
        case es256 = "ES256"
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
    }

    /// The only algorithm with which this key verifies.
    package let algorithm: Algorithm

    private let key: KeyHandle
    private static let wanted = "a public key, EC on P-256 or RSA"

    /// The key itself, for a key agreement.
    var handle: KeyHandle { key }

    /// The length of the shortest RSA key that is accepted, in bits (RFC 7518, section 3.3).
    package static let minimumRSABits = 2048
    /// The length of the longest RSA key that is accepted, in bits: with a longer key a verification would take
    /// milliseconds.
    package static let maximumRSABits = 8192

    /// Reads the key from a PEM text.
    ///
    /// - Parameter pem: `PUBLIC KEY` (SPKI), `RSA PUBLIC KEY` (PKCS#1) or `CERTIFICATE` (X.509). From a certificate
    ///   only the key is used: neither its dates nor its issuer are checked. From a chain, the first certificate is
    ///   used.
    /// - Throws: ``KeyError`` if there is no PEM, a private key, another kind of key, or a length out of range.
    package init(pem: String) throws(KeyError) {
        self = try withoutErrorQueue { () throws(KeyError) in
            let block = try PEM(pem, wanted: "\(Self.wanted) in PEM")
            let pointer: OpaquePointer?
            switch block.label {
            case "PUBLIC KEY": pointer = block.decoded { d2i_PUBKEY(nil, &$0, $1) }
            case "RSA PUBLIC KEY": pointer = block.decoded { d2i_PublicKey(EVP_PKEY_RSA, nil, &$0, $1) }
            case "CERTIFICATE": pointer = block.decoded(certificateKey)
            case "ENCRYPTED PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY": throw .privateKey
            default: throw .otherKind(FileKind.words(forLabel: block.label), wanted: Self.wanted)
            }
            guard let key = KeyHandle(pointer) else { throw .invalid }
            return try PublicKey(checking: key)
        }
    }

    /// Checks a key that was just read or built, and creates a public key from it.
    init(checking key: KeyHandle) throws(KeyError) {
        if key.isP256 {
            algorithm = .es256
        } else if key.isRSA {
            let bits = Int(EVP_PKEY_get_bits(key.pointer))
            guard (Self.minimumRSABits...Self.maximumRSABits).contains(bits) else { throw .keyLength(bits) }
            // RFC 8017 allows any odd exponent from 3 to n. Issuers use 65537, and a long exponent is slow.
            guard key.rsaExponentBits <= 64 else { throw .invalid }
            algorithm = .rs256
        } else {
            throw .otherKind(key.kind, wanted: Self.wanted)
        }
        guard key.isSoundPublicKey else { throw .invalid }
        self.key = key
    }

    /// Creates the public half of a P-256 key that has been checked before.
    init(p256 key: KeyHandle) {
        algorithm = .es256
        self.key = key
    }

    /// Returns whether a signature of a message is valid under this key.
    ///
    /// Wraps `EVP_DigestVerify`.
    ///
    /// - Parameters:
    ///   - signature: ES256: the 64 bytes r‖s; RS256: as many bytes as the modulus has.
    ///   - message: the message that was signed, not its digest.
    /// - Returns: false for any other bytes, malformed signatures included.
    package func isValid(_ signature: [UInt8], for message: Span<UInt8>) -> Bool {
        switch algorithm {
        case .es256:
            guard let der = ECDSASignature.der(signature) else { return false }
            return verify(der, message)
        case .rs256:
            return verify(signature, message)
        }
    }

    /// Returns whether a signature of a message is valid under this key.
    package func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool { isValid(signature, for: message.span) }

    /// Returns the key as PEM (`PUBLIC KEY`).
    ///
    /// Wraps `PEM_write_bio_PUBKEY`.
    ///
    /// - Throws: ``KeyError/failed``.
    package func pem() throws(KeyError) -> String {
        let text = withoutErrorQueue { textWritten { PEM_write_bio_PUBKEY($0, key.pointer) } }
        guard let text else { throw .failed }
        return text
    }

    private func verify(_ signature: [UInt8], _ message: Span<UInt8>) -> Bool {
        withoutErrorQueue {
            guard let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, key.pointer, nil) == 1 else { return false }
            return message.withUnsafeBufferPointer { message in
                // 0 means a wrong signature; a negative value means a malformed one.
                EVP_DigestVerify(context, signature, signature.count, message.baseAddress, message.count) == 1
            }
        }
    }
}

extension PEM {
    /// Returns the result of a `d2i` function that decodes all the bytes; nil if the function fails or leaves bytes
    /// over.
    func decoded(
        _ decode: (inout UnsafePointer<UInt8>?, Int) -> OpaquePointer?
    ) -> OpaquePointer? {
        der.withUnsafeBufferPointer { der in
            var place = der.baseAddress
            guard let key = decode(&place, der.count) else { return nil }
            guard place == der.baseAddress.map({ $0 + der.count }) else {
                EVP_PKEY_free(key)
                return nil
            }
            return key
        }
    }
}

/// Returns the key of an X.509 certificate.
///
/// Wraps `d2i_X509`, `X509_get_pubkey`.
private func certificateKey(_ place: inout UnsafePointer<UInt8>?, _ count: Int) -> OpaquePointer? {
    guard let certificate = d2i_X509(nil, &place, count) else { return nil }
    defer { X509_free(certificate) }
    return X509_get_pubkey(certificate)
}
