/// The alphabet of user and device ids: 1–128 of `A–Z a–z 0–9 . _ @ : + -` (protocol, section 1).
enum Identifier {
    static let maximumByteCount = 128

    /// Returns the id that the bytes contain; nil if they are not a valid id.
    static func text(_ bytes: [UInt8]) -> String? {
        guard (1...maximumByteCount).contains(bytes.count), bytes.allSatisfy(isAllowed) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "@"),
            UInt8(ascii: ":"), UInt8(ascii: "+"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
