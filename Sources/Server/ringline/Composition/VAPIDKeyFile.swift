import CallPorts
import Crypto
import Identity
import SQLiteStore

/// The file with the key by which push services know this server.
///
/// Browsers subscribe to messages under this key, so it must outlive the server: with another key, every browser would
/// have to subscribe again.
enum VAPIDKeyFile {
    /// Reads the key.
    ///
    /// `makes`: Whether the file is made, with mode 0600, if it is missing.
    /// `folder`: The data folder; a key in it is read as an operator's command reads files there.
    static func load(_ path: String, makes: Bool, in folder: String) throws(UsageError) -> P256SigningKey {
        let text: [UInt8]
        do {
            if makes {
                text = try SecretFile.loadOrCreate(path, P256SigningKey.generate().pem())
            } else if path == "\(folder)/\(ServeSettings.vapidKeyFile)" {
                text = try secret(ServeSettings.vapidKeyFile, in: folder)
            } else {
                text = try SecretFile.read(path)
            }
        } catch {
            let advice = makes ? "" : "; a server that runs alone makes it, and several nodes need copies of one file"
            throw UsageError("--vapid-key-file: \(error)\(advice)")
        }
        do throws(KeyError) { return try P256SigningKey(pem: String(decoding: text, as: UTF8.self)) } catch {
            throw UsageError("--vapid-key-file \(path): \(error)")
        }
    }

    private static func secret(_ name: String, in folder: String) throws(UsageError) -> [UInt8] {
        do throws(StoreFailure) {
            let folder = try OperatorFolder(folder)
            guard try folder.hasFile(name), let text = folder.contents(of: name, limit: SecretFile.maximumByteCount)
            else { throw StoreFailure("cannot read \(folder.path(of: name))") }
            return text
        } catch { throw UsageError(error.message) }
    }
}
