import COpenSSL

/// Comparing what an attacker may guess at.
public enum ConstantTime {
    /// Says whether two byte strings are equal, in a time that depends on their lengths only.
    ///
    /// Wraps `CRYPTO_memcmp`.
    public static func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        return CRYPTO_memcmp(one, other, one.count) == 0
    }
}
