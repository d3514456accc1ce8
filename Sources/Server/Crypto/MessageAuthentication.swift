import COpenSSL

/// HMAC with SHA-256 (RFC 2104, FIPS 198-1).
package enum HMACSHA256 {
    /// The length of a code in bytes.
    package static let byteCount = 32

    /// Returns the code of a message under a key of any length: 32 bytes.
    ///
    /// Wraps `HMAC`.
    package static func code(of message: Span<UInt8>, key: [UInt8]) -> [UInt8] {
        authenticate(message, key: key, by: EVP_sha256(), byteCount: byteCount)
    }

    /// Returns the code of a message under a key of any length: 32 bytes.
    package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] { code(of: message.span, key: key) }

    /// Returns whether a code belongs to a message, in a time that does not depend on where the codes differ.
    package static func isValid(_ code: [UInt8], for message: Span<UInt8>, key: [UInt8]) -> Bool {
        ConstantTime.equal(code, self.code(of: message, key: key))
    }
}

/// HMAC with SHA-1, only for coturn's time-limited credentials.
package enum HMACSHA1 {
    /// The length of a code in bytes.
    package static let byteCount = 20

    /// Returns the code of a message under a key of any length: 20 bytes.
    ///
    /// Wraps `HMAC`.
    package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        authenticate(message.span, key: key, by: EVP_sha1(), byteCount: byteCount)
    }
}

/// Computes a code in one call.
///
/// OpenSSL fails only if it lacks the digest or memory. Then the process stops, because it cannot work without HMAC.
private func authenticate(
    _ message: Span<UInt8>,
    key: [UInt8],
    by digest: OpaquePointer?,
    byteCount: Int
) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
        let done = key.withUnsafeBufferPointer { key in
            message.withUnsafeBufferPointer { message in
                HMAC(
                    digest,
                    key.baseAddress,
                    Int32(clamping: key.count),
                    message.baseAddress,
                    message.count,
                    output.baseAddress,
                    nil
                )
            }
        }
        precondition(done != nil, "OpenSSL computes no HMAC: its default provider is missing")
        count = byteCount
    }
}
