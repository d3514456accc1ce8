import Crypto
import Identity

/// A setting that must be the same on all nodes, because a call would otherwise go differently on each.
struct SharedSetting: Equatable {
    let name: String
    let values: [String]
    /// Whether the value is the path of a file whose contents must be the same; its path may differ.
    var namesFile: Bool { Setting.named(name)?.scope == .sharedFile }

    /// Returns all settings that must be the same, in the order of the documentation.
    static func all(_ source: SettingsSource) -> [SharedSetting] {
        Setting.all.filter { $0.scope != .own }.map { setting in
            let values = source.texts(of: setting)
            // The order of repeated values, such as origins, has no meaning. Of all others only the last counts.
            let used = setting.isRepeatable ? Set(values).sorted() : Array(values.suffix(1))
            return SharedSetting(name: setting.name, values: used.map { Self.parsed($0, of: setting) })
        }
    }

    /// Returns the text of a value as the server understands it: `60`, `60.0` and `6e1` seconds are the same.
    private static func parsed(_ text: String, of setting: Setting) -> String {
        switch setting.placeholder {
        case "SECONDS": Double(text).map { "\(max(1, ($0 * 1_000).rounded()))" } ?? text
        case "COUNT", "BYTES", "DAYS": Int(text).map(String.init) ?? text
        default: text
        }
    }

    /// Returns the digests of settings, one `name digest` per line, for the database's list of nodes.
    ///
    /// The digests are keyed with the nodes' secret and 8 bytes long: they tell equal values from different ones, and
    /// reveal none to somebody who can read the list only.
    static func digests(of settings: [SharedSetting], secret: [UInt8]) -> String {
        let key = HMACSHA256.code(of: Array("ringline settings".utf8), key: secret)
        return settings.map { setting in
            let code = HMACSHA256.code(of: setting.digestedBytes, key: key)
            return "\(setting.listedName) \(Base64URL.encode(Array(code.prefix(8))))"
        }.joined(separator: "\n")
    }

    /// The name in the database's list of nodes: the former one as long as nodes of the earlier release may list it.
    private var listedName: String { Setting.named(name)?.formerName ?? name }

    private var digestedBytes: [UInt8] {
        var bytes = Array(listedName.utf8)
        for value in values {
            // A file that cannot be read has ended the start already.
            let content = namesFile ? (try? SecretFile.read(value)) ?? [] : Array(value.utf8)
            // The length keeps apart values that together have the same bytes.
            bytes += Array(" \(content.count) ".utf8) + content
        }
        return bytes
    }
}
