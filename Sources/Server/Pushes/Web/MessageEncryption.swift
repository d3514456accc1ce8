import CallPorts
import Crypto

/// The encryption of a message for one browser: one record of the content coding `aes128gcm`.
///
/// Source: RFC 8291, section 3; RFC 8188, section 2.
enum MessageEncryption {
    /// The size of a record and of a whole message at most, in bytes.
    static let recordBytes = 4_096
    /// The sizes to which a message is padded, in bytes, so that its length does not tell what it says.
    static let paddedSizes = [1_024, 2_048, 3_072, 3_993]

    /// Returns the encrypted message.
    ///
    /// - Parameters:
    ///   - message: the message, at most 3,993 bytes.
    ///   - subscription: the browser's keys.
    ///   - salt: 16 random bytes.
    ///   - key: a key that is used for this message alone.
    ///   - isPadded: whether the message is padded to one of ``paddedSizes``.
    /// - Returns: the body of the request.
    /// - Throws: `KeyError` if the browser's keys are malformed.
    static func encrypt(
        _ message: [UInt8],
        for subscription: WebPushSubscription,
        salt: [UInt8],
        key: P256AgreementKey,
        isPadded: Bool = true
    ) throws(KeyError) -> [UInt8] {
        guard let browser = Base64URL.decode(subscription.p256dh), let auth = Base64URL.decode(subscription.auth),
            auth.count == 16
        else { throw .invalid }
        let own = try key.publicKey.p256Point()
        let shared = try key.sharedSecret(with: PublicKey(p256Point: browser))
        let secret = HKDFSHA256.expand(
            HKDFSHA256.extract(shared, salt: auth),
            info: Array("WebPush: info\0".utf8) + browser + own,
            byteCount: 32
        )
        let keys = HKDFSHA256.extract(secret, salt: salt)
        let contentKey = HKDFSHA256.expand(
            keys,
            info: Array("Content-Encoding: aes128gcm\0".utf8),
            byteCount: AES128GCM.keyBytes
        )
        let nonce = HKDFSHA256.expand(
            keys,
            info: Array("Content-Encoding: nonce\0".utf8),
            byteCount: AES128GCM.nonceBytes
        )
        // 2 ends the last record; padding follows it.
        var record = message + [2]
        if isPadded, let size = paddedSizes.first(where: { message.count <= $0 }) {
            record += [UInt8](repeating: 0, count: size - message.count)
        }
        let size = UInt32(recordBytes).bigEndian
        return salt + withUnsafeBytes(of: size) { Array($0) } + [UInt8(own.count)] + own
            + (try AES128GCM.seal(record, key: contentKey, nonce: nonce))
    }
}
