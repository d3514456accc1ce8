/// UUIDs that are computed from names: one name in one namespace always has the same UUID (RFC 9562, section 5.5).
public enum UUIDv5 {
    /// The namespace that a name belongs to (RFC 9562, section 6.6).
    public struct Namespace: Sendable, Equatable {
        /// The 16 bytes of the namespace's own UUID.
        public let bytes: [UInt8]

        /// The namespace of URLs: `6ba7b811-9dad-11d1-80b4-00c04fd430c8`.
        public static let url = Namespace(low: 0x11)

        /// The namespace of domain names: `6ba7b810-9dad-11d1-80b4-00c04fd430c8`.
        public static let dns = Namespace(low: 0x10)

        private init(low: UInt8) {
            bytes = [
                0x6B, 0xA7, 0xB8, low, 0x9D, 0xAD, 0x11, 0xD1, 0x80, 0xB4, 0x00, 0xC0, 0x4F, 0xD4, 0x30, 0xC8,
            ]
        }
    }

    /// Returns the UUID of a name as text: 36 characters, lower case.
    public static func text(for name: String, in namespace: Namespace = .url) -> String {
        var bytes = Array(SHA1.hash(namespace.bytes + Array(name.utf8)).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x50
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = Hex.encode(bytes)
        // It works from the end, so that the earlier positions stay valid.
        for place in [20, 16, 12, 8] { text.insert("-", at: text.index(text.startIndex, offsetBy: place)) }
        return text
    }
}
