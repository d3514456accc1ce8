import Crypto
import Identity

/// The file with the key by which push services know this server.
///
/// Browsers subscribe to messages under this key, so it must outlive the server: with another key, every browser would
/// have to subscribe again.
enum VAPIDKeyFile {
    /// Reads the key.
    ///
    /// `makes`: Whether the file is made, with mode 0600, if it is missing.
    static func load(_ path: String, makes: Bool) throws(UsageError) -> P256SigningKey {
        let text: [UInt8]
        do {
            text =
                makes ? try SecretFile.loadOrCreate(path, P256SigningKey.generate().pem()) : try SecretFile.read(path)
        } catch {
            let advice = makes ? "" : "; a server that runs alone makes it, and several nodes need copies of one file"
            throw UsageError("--vapid-key-file: \(error)\(advice)")
        }
        do throws(KeyError) { return try P256SigningKey(pem: String(decoding: text, as: UTF8.self)) } catch {
            throw UsageError("--vapid-key-file \(path): \(error)")
        }
    }
}
