/// The HS256 secret that a server makes for itself if no key is configured: for trials, not for production.
package enum DevelopmentKey {
    /// The name of the file in the data folder.
    package static let fileName = "development-jwt-secret"

    /// Reads the secret of a data folder, or makes it at the first start.
    ///
    /// - Parameter folder: the data folder, which must exist.
    /// - Returns: the text of the file (base64url of 32 random bytes); its bytes, without decoding, are the HS256
    ///   secret.
    /// - Throws: ``SecretFileError``.
    package static func loadOrCreate(inFolder folder: String) throws(SecretFileError) -> [UInt8] {
        try SecretFile.loadOrCreate("\(folder)/\(fileName)")
    }
}
