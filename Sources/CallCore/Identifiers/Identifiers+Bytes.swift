/// Identifiers from a part of a text, such as the bytes between two quotes.
///
/// The form is checked, and the hash made, before a `String` is made of the bytes: reading the bytes of a `String` costs
/// several times as much.
extension CallID {
    /// Creates a call id; `nil` if the bytes do not have the form.
    public init?(_ text: [UInt8], _ part: Range<Int>) {
        guard let hash = Alphabet.call.hash(text.span, part) else { return nil }
        self.text = String(decoding: text[part], as: UTF8.self)
        self.hash = hash
    }
}

extension UserID {
    /// Creates a user id; `nil` if the bytes do not have the form.
    public init?(_ text: [UInt8], _ part: Range<Int>) {
        guard let hash = Alphabet.user.hash(text.span, part) else { return nil }
        self.text = String(decoding: text[part], as: UTF8.self)
        self.hash = hash
    }
}

extension DeviceID {
    /// Creates a device id; `nil` if the bytes do not have the form.
    public init?(_ text: [UInt8], _ part: Range<Int>) {
        guard let hash = Alphabet.user.hash(text.span, part) else { return nil }
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
    func hash(_ text: Span<UInt8>, _ part: Range<Int>) -> UInt64? {
        guard (1...Limits.identifierBytes).contains(part.count) else { return nil }
        var hash = TextHash(byteCount: part.count)
        var start = part.lowerBound
        while start < part.upperBound {
            let word = loadWord(text, start..<part.upperBound)
            // The bytes behind the end are 0, which no alphabet contains.
            let left = part.upperBound &- start
            let used: UInt64 = left < 8 ? ~(UInt64.max &<< UInt64(8 &* left)) : .max
            guard admits(word, used) else { return nil }
            hash.add(word)
            start &+= 8
        }
        return hash.value
    }

    /// Returns whether the used bytes of a word are in the alphabet: eight bytes are compared at once.
    ///
    /// In each byte below 0x80, the sum with a number sets the highest bit if the byte is at least a certain one.
    @inline(__always)
    private func admits(_ word: UInt64, _ used: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let flags = ones &* 0x80
        guard word & flags == 0 else { return false }
        let letter = word | ones &* 0x20
        var known = (letter &+ ones &* (0x80 - 0x61)) & ~(letter &+ ones &* (0x7F - 0x7A))  // a–z and A–Z
        known |= (word &+ ones &* (0x80 - 0x30)) & ~(word &+ ones &* (0x7F - 0x3A))  // 0–9 and :
        known |= (word &+ ones &* (0x80 - 0x2D)) & ~(word &+ ones &* (0x7F - 0x2E))  // - and .
        known |= ~((word ^ ones &* 0x5F) &+ ones &* 0x7F)  // _
        if isUsers {
            known |= ~((word ^ ones &* 0x40) &+ ones &* 0x7F)  // @
            known |= ~((word ^ ones &* 0x2B) &+ ones &* 0x7F)  // +
        }
        return known & used & flags == used & flags
    }
}
