/// The key derivation function HKDF with SHA-256 (RFC 5869).
package enum HKDFSHA256 {
    /// Returns the pseudorandom key of some secret bytes (RFC 5869, section 2.2): 32 bytes.
    package static func extract(_ secret: [UInt8], salt: [UInt8]) -> [UInt8] { HMACSHA256.code(of: secret, key: salt) }

    /// Returns the first bytes of a key for one purpose (RFC 5869, section 2.3).
    ///
    /// - Parameters:
    ///   - key: the result of ``extract(_:salt:)``.
    ///   - info: the purpose.
    ///   - byteCount: how many bytes to return, 1 to 32.
    /// - Returns: the bytes.
    package static func expand(_ key: [UInt8], info: [UInt8], byteCount: Int) -> [UInt8] {
        precondition((1...HMACSHA256.byteCount).contains(byteCount), "one block has 32 bytes")
        return Array(HMACSHA256.code(of: info + [1], key: key).prefix(byteCount))
    }
}
