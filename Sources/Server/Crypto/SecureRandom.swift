import COpenSSL

/// Cryptographically secure random bytes.
package enum SecureRandom {
    /// Returns a number of random bytes, fit for keys.
    ///
    /// Wraps `RAND_bytes`.
    ///
    /// Without random bytes no key and no token can be made. So the process stops if the system provides none, as it
    /// does with the standard library's own generator.
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
            precondition(
                RAND_bytes(output.baseAddress, Int32(count)) == 1,
                "OpenSSL cannot generate random bytes (RAND_bytes)"
            )
            initialized = count
        }
    }
}
