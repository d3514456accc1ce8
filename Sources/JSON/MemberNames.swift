/// The member names that a reader knows, each with a number.
///
/// While an object is scanned, the number of each of its members is looked up once, so that later steps compare numbers
/// instead of text.
public struct MemberNames: Sendable {
    /// The names; the number of a name is its index.
    public let texts: [String]
    /// The names in the order in which packed names are sorted, for a binary search.
    private let sorted: [(name: PackedName, number: UInt8)]

    /// The empty table: the members of an object that is scanned with it have no numbers.
    public static let none = MemberNames([])

    /// Creates the table of these names.
    ///
    /// - Parameter texts: at most 64 different names of 1 to 16 bytes of UTF-8, none of which begins with a zero byte.
    public init(_ texts: [String]) {
        precondition(texts.count <= 64, "a set of numbers has 64 bits")
        self.texts = texts
        sorted = texts.enumerated().map { number, text -> (name: PackedName, number: UInt8) in
            let bytes = Array(text.utf8)
            guard let name = PackedName(bytes.span, 0..<bytes.count) else { preconditionFailure("a name has 16 bytes") }
            return (name, UInt8(number))
        }.sorted { $0.name < $1.name }
    }

    /// Returns the number of a name, given as a part of a JSON text; `nil` if the name has none.
    ///
    /// Escapes in the name are decoded before the comparison.
    func number(of part: Range<Int>, in text: Span<UInt8>, isPlain: Bool) -> UInt8? {
        guard isPlain else {
            var name: [UInt8] = []
            for place in part { name.append(text[place]) }
            return JSONText.decoded(name[...]).flatMap { number(of: 0..<$0.count, in: $0.span) }
        }
        return number(of: part, in: text)
    }

    private func number(of part: Range<Int>, in text: Span<UInt8>) -> UInt8? {
        guard let name = PackedName(text, part) else { return nil }
        // A binary search in the order of the packed names: few steps for every name, known or unknown.
        var low = 0
        var high = sorted.count
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle].name < name { low = middle + 1 } else { high = middle }
        }
        guard low < sorted.count, sorted[low].name == name else { return nil }
        return sorted[low].number
    }
}

/// A name of at most 16 bytes, stored as two numbers because numbers are compared faster than text.
private struct PackedName: Comparable {
    private var first: UInt64 = 0
    private var second: UInt64 = 0

    init?(_ text: Span<UInt8>, _ part: Range<Int>) {
        // A name with a leading zero byte would equal the name without that byte.
        guard part.count <= 16, !part.isEmpty, text[part.lowerBound] != 0 else { return nil }
        for place in part {
            second = second << 8 | first >> 56
            first = first << 8 | UInt64(text[place])
        }
    }

    static func < (a: Self, b: Self) -> Bool { a.first != b.first ? a.first < b.first : a.second < b.second }
}
