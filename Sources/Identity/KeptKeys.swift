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
