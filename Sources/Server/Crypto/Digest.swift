import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The length of a digest in bytes.
    package static let byteCount = 32

    /// Returns the digest of some bytes: 32 bytes.
    ///
    /// Wraps `EVP_Digest`.
    package static func hash(_ bytes: Span<UInt8>) -> [UInt8] {
        digest(bytes, by: algorithm, byteCount: byteCount)
    }

    /// Returns the digest of some bytes: 32 bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] { hash(bytes.span) }

    /// Returns the digest of a text's UTF-8 bytes: 32 bytes.
    package static func hash(_ text: String) -> [UInt8] { hash(Array(text.utf8)) }

    // The algorithm is fetched once, because an implicit fetch for each digest costs more than the digest of a token.
    // OpenSSL never changes the object, and it is never freed, so every thread may read it.
    nonisolated(unsafe) private static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)
}

/// MD5 (RFC 1321), only for TURN's long-term credentials, which require it (RFC 8489, section 9.2.2).
///
/// MD5 is not secure: use it for nothing else.
package enum MD5 {
    /// The length of a digest in bytes.
    package static let byteCount = 16

    /// Returns the digest of some bytes: 16 bytes; `nil` where OpenSSL is configured without MD5 (FIPS).
    ///
    /// Wraps `EVP_Digest`.
    package static func hash(_ bytes: [UInt8]) -> [UInt8]? {
        guard let algorithm = EVP_MD_fetch(nil, "MD5", nil) else { return nil }
        defer { EVP_MD_free(algorithm) }
        return digest(bytes.span, by: algorithm, byteCount: byteCount)
    }
}

/// Computes a digest in one call.
///
/// OpenSSL fails only if it lacks the digest or memory. Then the process stops, because it cannot work without digests.
private func digest(_ bytes: Span<UInt8>, by algorithm: OpaquePointer?, byteCount: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
        let done = bytes.withUnsafeBufferPointer { input in
            EVP_Digest(input.baseAddress, input.count, output.baseAddress, nil, algorithm, nil)
        }
        precondition(done == 1, "OpenSSL computes no digest: its default provider is missing")
        count = byteCount
    }
}
