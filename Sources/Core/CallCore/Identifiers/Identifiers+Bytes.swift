/// Identifiers from a part of a text, such as the bytes between two quotes.
///
/// The form is checked, and the hash made, before a `String` is made of the bytes: reading the bytes of a `String` costs
/// several times as much.
extension CallID {
    /// Creates a call id; `nil` if the bytes do not have the form.
    public init?(_ text: [UInt8], _ part: Range<Int>) {
        var capitals: UInt64 = 0
        guard let hash = Alphabet.hash(text.span, part, &capitals) else { return nil }
        self.text = String(decoding: text[part], as: UTF8.self)
        // Nearly all UUIDs are written in lower case, and need no second hash.
        let mayFold = part.count == 36 && capitals & 0x4040_4040_4040_4040 != 0
        self.hash = mayFold ? Self.foldedHash(self.text) ?? hash : hash
    }
}

extension UserID {
    /// Creates a user id; `nil` if the bytes do not have the form.
    public init?(_ text: [UInt8], _ part: Range<Int>) {
        var capitals: UInt64 = 0
        guard let hash = Alphabet.hash(text.span, part, &capitals) else { return nil }
        self.text = String(decoding: text[part], as: UTF8.self)
        self.hash = hash
    }
}

extension DeviceID {
    /// Creates a device id; `nil` if the bytes do not have the form.
    public init?(_ text: [UInt8], _ part: Range<Int>) {
        var capitals: UInt64 = 0
        guard let hash = Alphabet.hash(text.span, part, &capitals) else { return nil }
        self.text = String(decoding: text[part], as: UTF8.self)
        self.hash = hash
    }
}

extension SignalID {
    /// Creates an id from a part of a text that contains no quote, no backslash and no control character.
    ///
    /// It is `nil` when the text is empty, too long, or not ASCII; the other initialiser takes all texts.
    public init?(plain text: [UInt8], _ part: Range<Int>) {
        guard (1...Limits.signalIDBytes).contains(part.count) else { return nil }
        let bytes = text.span
        var hash = TextHash(byteCount: part.count)
        var all: UInt64 = 0
        var start = part.lowerBound
        while start < part.upperBound {
            let word = loadWord(bytes, start..<part.upperBound)
            all |= word
            hash.add(word)
            start &+= 8
        }
        guard all & 0x8080_8080_8080_8080 == 0 else { return nil }
        self.text = String(decoding: text[part], as: UTF8.self)
        self.hash = hash.value | 1
    }
}

extension Alphabet {
    /// Returns the hash of an identifier; `nil` if the bytes do not have the form.
    ///
    /// `capitals`: Bit 6 of a byte is set if the text may have a capital letter there, in any of its words.
    @inline(__always)
    static func hash(_ text: Span<UInt8>, _ part: Range<Int>, _ capitals: inout UInt64) -> UInt64? {
        guard (1...Limits.identifierBytes).contains(part.count) else { return nil }
        var hash = TextHash(byteCount: part.count)
        var start = part.lowerBound
        while start < part.upperBound {
            let word = loadWord(text, start..<part.upperBound)
            // The bytes behind the end are 0, which the alphabet does not contain.
            let left = part.upperBound &- start
            let used: UInt64 = left < 8 ? ~(UInt64.max &<< UInt64(8 &* left)) : .max
            guard hasCommon(word, used) || admits(text, start..<min(start &+ 8, part.upperBound)) else { return nil }
            // In ASCII, bit 6 is set in letters, and bit 5 in small ones.
            capitals |= word & ~(word &<< 1)
            hash.add(word)
            start &+= 8
        }
        return hash.value
    }

    /// Returns whether the used bytes of a word are letters, digits, `.`, `_`, `:` or `-`, as in most identifiers: eight
    /// bytes are compared at once.
    ///
    /// In each byte below 0x80, the sum with a number sets the highest bit if the byte is at least a certain one.
    @inline(__always)
    private static func hasCommon(_ word: UInt64, _ used: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let flags = ones &* 0x80
        guard word & flags == 0 else { return false }
        let letter = word | ones &* 0x20
        var known = (letter &+ ones &* (0x80 - 0x61)) & ~(letter &+ ones &* (0x7F - 0x7A))  // a–z and A–Z
        known |= (word &+ ones &* (0x80 - 0x30)) & ~(word &+ ones &* (0x7F - 0x3A))  // 0–9 and :
        known |= (word &+ ones &* (0x80 - 0x2D)) & ~(word &+ ones &* (0x7F - 0x2E))  // - and .
        known |= ~((word ^ ones &* 0x5F) &+ ones &* 0x7F)  // _
        return known & used & flags == used & flags
    }

    /// Returns whether all bytes of a part are in the alphabet.
    @inline(never)
    private static func admits(_ text: Span<UInt8>, _ part: Range<Int>) -> Bool {
        for place in part where !contains(text[place]) { return false }
        return true
    }
}
