/// The member names that a reader knows, each with a number; or other short texts that it has to tell apart.
///
/// While an object is scanned, the number of each of its members is looked up once, so that later steps compare numbers
/// instead of text.
public struct MemberNames: Sendable {
    /// The names; the number of a name is its index.
    public let texts: [String]
    /// The names by number.
    private let names: [PackedName]
    /// A hash table of the numbers, each plus 1; 0 marks a free slot, where a search ends.
    private let slots: [UInt8]

    /// The empty table: the members of an object that is scanned with it have no numbers.
    public static let none = MemberNames([])

    /// Creates the table of these names.
    ///
    /// - Parameter texts: at most 64 different names of 1 to 16 bytes of UTF-8.
    public init(_ texts: [String]) {
        precondition(texts.count <= 64, "a set of numbers has 64 bits")
        self.texts = texts
        names = texts.map { text in
            let bytes = Array(text.utf8)
            guard let name = PackedName(bytes.span, 0..<bytes.count) else { preconditionFailure("a name has 16 bytes") }
            return name
        }
        // Four slots for each name: a search rarely meets a slot that another name has taken.
        var slots = [UInt8](repeating: 0, count: 256)
        for (number, name) in names.enumerated() {
            var slot = name.slot
            while slots[Int(slot)] != 0 { slot &+= 1 }
            slots[Int(slot)] = UInt8(number) + 1
        }
        self.slots = slots
    }

    /// Returns the number of a name, given as a part of a JSON text; `nil` if the name has none.
    ///
    /// Escapes in the name are decoded before the comparison.
    @inline(__always)
    func number(of part: Range<Int>, in text: Span<UInt8>, isPlain: Bool) -> UInt8? {
        isPlain ? number(of: part, in: text) : number(ofEscaped: part, in: text)
    }

    private func number(ofEscaped part: Range<Int>, in text: Span<UInt8>) -> UInt8? {
        var name: [UInt8] = []
        for place in part { name.append(text[place]) }
        return JSONText.decoded(name[...]).flatMap { number(of: 0..<$0.count, in: $0.span) }
    }

    @inline(__always)
    private func number(of part: Range<Int>, in text: Span<UInt8>) -> UInt8? {
        guard let name = PackedName(text, part) else { return nil }
        var slot = name.slot
        while true {
            let number = slots[Int(slot)]
            guard number != 0 else { return nil }
            if names[Int(number) &- 1] == name { return number &- 1 }
            slot &+= 1
        }
    }
}

/// A name of at most 16 bytes, stored as two numbers because numbers are compared faster than text.
private struct PackedName: Equatable {
    private let first: UInt64
    private let second: UInt64
    /// The size is compared, too: a name that ends with zero bytes is another name.
    private let count: Int

    @inline(__always)
    init?(_ text: Span<UInt8>, _ part: Range<Int>) {
        count = part.upperBound &- part.lowerBound
        guard count <= 16, count > 0 else { return nil }
        let rest = text.extracting(droppingFirst: part.lowerBound)
        first = TextWord(rest).prefix(min(count, 8))
        second = count > 8 ? TextWord(rest.extracting(droppingFirst: 8)).prefix(count &- 8) : 0
    }

    /// The slot at which the search for the name begins.
    ///
    /// The multiplier is 2^64 divided by the golden ratio, which spreads similar names over the table (Knuth).
    var slot: UInt8 {
        let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15
        return UInt8(truncatingIfNeeded: ((first ^ second &* multiplier) &* multiplier) &>> 56)
    }
}
