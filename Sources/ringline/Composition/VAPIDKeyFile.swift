import Crypto
import Identity

/// The file with the key by which push services know this server.
///
/// Browsers subscribe to messages under this key, so it must outlive the server: with another key, every browser would
/// have to subscribe again.
enum VAPIDKeyFile {
    /// Reads the key, or makes the file, with mode 0600, if it is missing.
    static func loadOrCreate(_ path: String) throws(UsageError) -> P256SigningKey {
        let text: [UInt8]
        do {
            text = try SecretFile.loadOrCreate(path, try P256SigningKey.generate().pem())
        } catch { throw UsageError("--vapid-key-file: \(error)") }
        do throws(KeyError) { return try P256SigningKey(pem: String(decoding: text, as: UTF8.self)) } catch {
            throw UsageError("--vapid-key-file \(path): \(error)")
        }
    }
}
