import COpenSSL

/// Bytes that nobody can foretell.
public enum SecureRandom {
    /// That many random bytes, fit for keys.
    ///
    /// Wraps `RAND_bytes`.
    ///
    /// Without them no key and no token can be made, so a machine that has none stops the process, as the standard
    /// library's own generator does.
    public static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { output, initialized in
            precondition(RAND_bytes(output.baseAddress, Int32(count)) == 1, "the system gives no random bytes")
            initialized = count
        }
    }
}
