import COpenSSL

/// Authenticated encryption by AES-128 in Galois/Counter Mode (SP 800-38D).
package enum AES128GCM {
    /// The length of a key in bytes.
    package static let keyBytes = 16
    /// The length of a nonce in bytes.
    package static let nonceBytes = 12
    /// The length of the tag that follows the encrypted bytes.
    package static let tagBytes = 16

    /// Encrypts some bytes, and returns them with their tag.
    ///
    /// Wraps `EVP_EncryptUpdate`.
    ///
    /// - Parameters:
    ///   - bytes: the bytes to encrypt.
    ///   - key: 16 bytes.
    ///   - nonce: 12 bytes, never used twice with one key.
    /// - Returns: as many bytes as there were, and 16 more.
    /// - Throws: ``KeyError/failed``.
    package static func seal(_ bytes: [UInt8], key: [UInt8], nonce: [UInt8]) throws(KeyError) -> [UInt8] {
        precondition(key.count == keyBytes && nonce.count == nonceBytes, "a key has 16 bytes, and a nonce 12")
        return try withoutErrorQueue { () throws(KeyError) in
            guard let context = EVP_CIPHER_CTX_new() else { throw .failed }
            defer { EVP_CIPHER_CTX_free(context) }
            var sealed = [UInt8](repeating: 0, count: bytes.count)
            var tag = [UInt8](repeating: 0, count: tagBytes)
            var count: Int32 = 0
            var rest: Int32 = 0
            // The mode adds no bytes of its own, so the last call writes none.
            guard EVP_EncryptInit_ex2(context, EVP_aes_128_gcm(), key, nonce, nil) == 1,
                EVP_EncryptUpdate(context, &sealed, &count, bytes, Int32(bytes.count)) == 1,
                EVP_EncryptFinal_ex(context, &tag, &rest) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag) == 1
            else { throw .failed }
            return sealed + tag
        }
    }
}
