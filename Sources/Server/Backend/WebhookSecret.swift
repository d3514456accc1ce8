import Crypto

/// A secret that signs events for the app's backend, as Standard Webhooks writes it: `whsec_` and base64.
///
/// Source: Standard Webhooks, "Signature scheme".
package struct WebhookSecret: Equatable, Sendable {
    /// The key: 24 to 64 bytes.
    let key: [UInt8]

    /// What every secret begins with.
    package static let prefix = "whsec_"
    /// The length of a key in bytes.
    private static let lengths = 24...64

    /// Reads a secret.
    package init(_ text: String) throws(Fault) {
        guard text.hasPrefix(Self.prefix) else { throw .noPrefix }
        guard let key = Base64.decode(String(text.dropFirst(Self.prefix.count))) else { throw .noBase64 }
        guard Self.lengths.contains(key.count) else { throw .wrongLength(key.count) }
        self.key = key
    }

    private init(key: [UInt8]) { self.key = key }

    /// Makes a secret of 32 random bytes.
    package static func make() -> WebhookSecret { WebhookSecret(key: SecureRandom.bytes(32)) }

    /// The secret as text, which must be kept secret.
    package var text: String { Self.prefix + Base64.encode(key) }

    /// Why a text is no secret.
    package enum Fault: Error, Equatable, Sendable, CustomStringConvertible {
        /// It does not begin with `whsec_`.
        case noPrefix
        /// The rest is no base64.
        case noBase64
        /// The key has this many bytes.
        case wrongLength(Int)

        /// The end of a sentence about the secret, without the secret.
        package var description: String {
            switch self {
            case .noPrefix: "must begin with \(prefix)"
            case .noBase64: "must be base64 with its padding after \(prefix)"
            case .wrongLength(let count): "must have 24 to 64 bytes, not \(count)"
            }
        }
    }
}

/// The secrets in a file: one or, while a secret is replaced by another one, two.
///
/// Each stands on a line of its own. Empty lines, and lines that begin with `#`, are ignored.
package struct WebhookSecrets: Equatable, Sendable {
    /// The secrets in the order of their lines; each signs every event.
    package let all: [WebhookSecret]

    /// Reads the content of a file.
    package init(file: [UInt8]) throws(Fault) {
        var found: [WebhookSecret] = []
        let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let text = String(decoding: Self.trimmed(line), as: UTF8.self)
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            do throws(WebhookSecret.Fault) { found.append(try WebhookSecret(text)) } catch {
                throw Fault(description: "line \(index + 1): a secret \(error)")
            }
        }
        guard !found.isEmpty else { throw Fault(description: "there is no secret in it") }
        guard found.count <= 2 else {
            throw Fault(
                description: "there are \(found.count) secrets in it, but at most two sign: the new one and the old one"
            )
        }
        all = found
    }

    /// The secrets of this list, which is not empty.
    package init(_ secrets: [WebhookSecret]) { all = secrets }

    /// Why a file cannot be used.
    package struct Fault: Error, Equatable, Sendable, CustomStringConvertible {
        /// What is wrong with it, without a secret.
        package let description: String
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
        let rest = line.drop(while: isBlank)
        return rest[..<(rest.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? rest.startIndex)]
    }
}
