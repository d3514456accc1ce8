/// The HS256 secret of a server that nobody has given one: good for trying things out, not for production.
public enum DevelopmentKey {
    /// The file's name in the data folder.
    public static let fileName = "development-jwt-secret"

    /// The secret of a data folder: read, or made at the first start.
    ///
    /// - Parameter folder: the data folder, which must exist.
    /// - Returns: the text of the file (base64url of 32 random bytes), whose bytes are the HS256 secret as they are.
    /// - Throws: ``SecretFileError``.
    public static func loadOrCreate(inFolder folder: String) throws(SecretFileError) -> [UInt8] {
        try SecretFile.loadOrCreate("\(folder)/\(fileName)")
    }
}

/// The server's own key, from which it derives those of what it issues and reads itself: capabilities to ring.
///
/// Kept in the data folder, so that what was issued before a restart is good after it.
public enum ServerKey {
    /// The file's name in the data folder.
    public static let fileName = "server-key"

    /// The key of a data folder: read, or made at the first start.
    ///
    /// - Parameter folder: the data folder, which must exist.
    /// - Returns: the text of the file (base64url of 32 random bytes).
    /// - Throws: ``SecretFileError``.
    public static func loadOrCreate(inFolder folder: String) throws(SecretFileError) -> [UInt8] {
        try SecretFile.loadOrCreate("\(folder)/\(fileName)")
    }
}
