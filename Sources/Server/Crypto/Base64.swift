/// Base64 for URLs and file names without padding (RFC 4648, section 5; RFC 7515, section 2).
package enum Base64URL {
    /// Returns the base64url text of some bytes, without padding.
    package static func encode(_ bytes: [UInt8]) -> String { Alphabet.url.encode(bytes, padded: false) }

    /// Returns the bytes of a text; nil if the text is not exactly what ``encode(_:)`` returns for them.
    ///
    /// Decoding is strict, so that no two texts stand for the same bytes: it refuses padding, white space, characters
    /// of the other alphabet, and bits that are set after the last byte.
    package static func decode(_ text: Span<UInt8>) -> [UInt8]? { Alphabet.url.decode(text) }

    /// Returns the bytes of a text; nil if the text is not exactly what ``encode(_:)`` returns for them.
    package static func decode(_ text: String) -> [UInt8]? { decode(Array(text.utf8).span) }
}

/// Base64 with padding (RFC 4648, section 4).
package enum Base64 {
    /// Returns the base64 text of some bytes, padded to a multiple of four characters.
    package static func encode(_ bytes: [UInt8]) -> String { Alphabet.standard.encode(bytes, padded: true) }

    /// Returns the bytes of a padded text; nil if the text is not exactly what ``encode(_:)`` returns for them.
    package static func decode(_ text: String) -> [UInt8]? {
        var bytes = Array(text.utf8)
        guard bytes.count.isMultiple(of: 4) else { return nil }
        for _ in 0..<2 where bytes.last == Alphabet.pad { bytes.removeLast() }
        // Wrong padding is refused: "AA=" and "AAA==" because of the number of characters, "AA=A" because `=` is not in
        // the alphabet.
        return Alphabet.standard.decode(bytes.span)
    }
}

/// The 64 characters of one variant, for encoding and decoding.
private struct Alphabet: Sendable {
    static let standard = Alphabet(sixtyTwo: 0x2B, sixtyThree: 0x2F)  // + /
    static let url = Alphabet(sixtyTwo: 0x2D, sixtyThree: 0x5F)  // - _
    static let pad: UInt8 = 0x3D

    private let characters: [UInt8]
    /// The value of each byte as a character; 255 for a byte outside the alphabet.
    private let values: [UInt8]

    private init(sixtyTwo: UInt8, sixtyThree: UInt8) {
        characters = Array(0x41...0x5A) + Array(0x61...0x7A) + Array(0x30...0x39) + [sixtyTwo, sixtyThree]
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in characters.enumerated() { values[Int(character)] = UInt8(value) }
        self.values = values
    }

    func encode(_ bytes: [UInt8], padded: Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(characters[Int(bits >> bitCount & 63)])
            }
        }
        if bitCount > 0 { text.append(characters[Int(bits << (6 - bitCount) & 63)]) }
        while padded, !text.count.isMultiple(of: 4) { text.append(Alphabet.pad) }
        return String(decoding: text, as: UTF8.self)
    }

    func decode(_ text: Span<UInt8>) -> [UInt8]? {
        // A single last character has only six bits, which make no byte.
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for index in text.indices {
            let value = values[Int(text[index])]
            guard value < 64 else { return nil }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
            }
        }
        // The bits that are left over must be zero; otherwise several texts would stand for the same bytes.
        guard bits & (1 << bitCount - 1) == 0 else { return nil }
        return bytes
    }
}
