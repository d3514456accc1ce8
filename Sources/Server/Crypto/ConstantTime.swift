import COpenSSL

/// Comparison of values that an attacker may try to guess.
package enum ConstantTime {
    /// Returns whether two byte strings are equal, in a time that depends only on their lengths.
    ///
    /// Wraps `CRYPTO_memcmp`.
    package static func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        return CRYPTO_memcmp(one, other, one.count) == 0
    }
}
