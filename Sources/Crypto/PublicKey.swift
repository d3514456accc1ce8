import COpenSSL

/// A public key that verifies signatures of one algorithm, which its kind decides: P-256 → ES256, RSA → RS256.
///
/// Built once, then used from any thread.
public struct PublicKey: Sendable {
    /// The algorithm that the key is for (RFC 7518, section 3.1).
    public enum Algorithm: String, Sendable, Equatable {
        /// ECDSA on P-256 with SHA-256.
        case es256 = "ES256"
        /// RSASSA-PKCS1-v1_5 with SHA-256.
        case rs256 = "RS256"
    }

    /// The only algorithm by which this key verifies.
    public let algorithm: Algorithm

    private let key: KeyHandle

    /// RSA keys shorter than this are not accepted (RFC 7518, section 3.3).
    public static let minimumRSABits = 2048
    /// Nor longer ones: a verification would take milliseconds.
    public static let maximumRSABits = 8192

    /// Reads the key of a PEM text.
    ///
    /// - Parameter pem: `PUBLIC KEY` (SPKI), `RSA PUBLIC KEY` (PKCS#1) or `CERTIFICATE` (X.509, of which only the key is
    ///   used: neither its dates nor its issuer are checked; of a chain the first).
    /// - Throws: ``KeyError``: no PEM, a private key, another kind of key, a length out of range.
    public init(pem: String) throws(KeyError) {
        self = try withoutErrorQueue { () throws(KeyError) in
            let block = try PEM(pem)
            let pointer: OpaquePointer?
            switch block.label {
            case "PUBLIC KEY": pointer = block.decoded { d2i_PUBKEY(nil, &$0, $1) }
            case "RSA PUBLIC KEY": pointer = block.decoded { d2i_PublicKey(EVP_PKEY_RSA, nil, &$0, $1) }
            case "CERTIFICATE": pointer = block.decoded(certificateKey)
            case "ENCRYPTED PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY": throw .privateKey
            default: throw .unsupported("a public key, EC on P-256 or RSA")
            }
            guard let key = KeyHandle(pointer) else { throw .invalid }
            return try PublicKey(checking: key)
        }
    }

    /// Takes a key whose soundness is not known yet.
    init(checking key: KeyHandle) throws(KeyError) {
        if key.isP256 {
            algorithm = .es256
        } else if key.isRSA {
            let bits = Int(EVP_PKEY_get_bits(key.pointer))
            guard (Self.minimumRSABits...Self.maximumRSABits).contains(bits) else { throw .keyLength(bits) }
            // Any odd number from 3 to n is allowed (RFC 8017); issuers take 65537, and a long one is slow.
            guard key.rsaExponentBits <= 64 else { throw .invalid }
            algorithm = .rs256
        } else {
            throw .unsupported("a public key, EC on P-256 or RSA")
        }
        guard key.isSoundPublicKey else { throw .invalid }
        self.key = key
    }

    /// The public half of a key that is known to be sound and on P-256.
    init(p256 key: KeyHandle) {
        algorithm = .es256
        self.key = key
    }

    /// Says whether a signature is this key's for a message.
    ///
    /// Wraps `EVP_DigestVerify`.
    ///
    /// - Parameters:
    ///   - signature: ES256: the 64 bytes r‖s; RS256: as many bytes as the modulus has.
    ///   - message: what was signed, not its digest.
    /// - Returns: false for every other signature, however broken.
    public func isValid(_ signature: [UInt8], for message: Span<UInt8>) -> Bool {
        switch algorithm {
        case .es256:
            guard let der = ECDSASignature.der(signature) else { return false }
            return verify(der, message)
        case .rs256:
            return verify(signature, message)
        }
    }

    /// Says whether a signature is this key's for a message.
    public func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool { isValid(signature, for: message.span) }

    /// The key as PEM (`PUBLIC KEY`).
    ///
    /// Wraps `PEM_write_bio_PUBKEY`.
    ///
    /// - Throws: ``KeyError/failed``.
    public func pem() throws(KeyError) -> String {
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
                // 0 is a wrong signature, negative is one that is not even well-formed.
                EVP_DigestVerify(context, signature, signature.count, message.baseAddress, message.count) == 1
            }
        }
    }
}

extension PEM {
    /// What a `d2i` function makes of all the bytes; nil if it fails or leaves some over.
    fileprivate func decoded(
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

/// The key of an X.509 certificate.
///
/// Wraps `d2i_X509`, `X509_get_pubkey`.
private func certificateKey(_ place: inout UnsafePointer<UInt8>?, _ count: Int) -> OpaquePointer? {
    guard let certificate = d2i_X509(nil, &place, count) else { return nil }
    defer { X509_free(certificate) }
    return X509_get_pubkey(certificate)
}
