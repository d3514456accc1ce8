/// The keyed hash of an identifier's text, made once, when the identifier is made.
///
/// An offer looks up some forty identifiers. To hash the whole text each time, as `String` does, took a sixth of the
/// offer's instructions. The hash tells nearly all different identifiers apart, so that their texts are not compared.
///
/// The keys are chosen at random for each process, because clients choose most identifiers: with known keys, a client
/// could choose many identifiers with one hash, and each look-up would search all of them.
struct TextHash {
    private static let keys: (UInt64, UInt64) = (key(1), key(2))

    private var state: UInt64
    private let key: UInt64

    /// Begins the hash of a text with this number of bytes.
    @inline(__always)
    init(byteCount: Int) {
        let keys = Self.keys
        state = keys.0 ^ UInt64(truncatingIfNeeded: byteCount)
        key = keys.1
    }

    /// Adds eight bytes, or the last ones of the text.
    @inline(__always)
    mutating func add(_ word: UInt64) {
        let product = (state ^ word).multipliedFullWidth(by: key)
        state = product.high ^ product.low
    }

    /// The hash of the text so far.
    var value: UInt64 { state }

    /// Returns the hash of a text.
    static func of(_ text: String) -> UInt64 {
        var hash = TextHash(byteCount: text.utf8.count)
        var word: UInt64 = 0
        var shift: UInt64 = 0
        for byte in text.utf8 {
            word |= UInt64(byte) &<< shift
            shift &+= 8
            if shift == 64 {
                hash.add(word)
                word = 0
                shift = 0
            }
        }
        if shift > 0 { hash.add(word) }
        return hash.value
    }

    private static func key(_ number: Int) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(number)
        // An odd factor loses no bit of the text.
        return UInt64(truncatingIfNeeded: hasher.finalize()) | 1
    }
}

/// Returns the first eight bytes of a part of a text as a number, the first byte lowest; bytes behind the end of the
/// part are 0.
@inline(__always)
func loadWord(_ text: Span<UInt8>, _ part: Range<Int>) -> UInt64 {
    let rest = text.extracting(droppingFirst: part.lowerBound)
    var word: UInt64 = 0
    if rest.count >= 8 {
        // The compiler makes this one load. Behind an identifier in a frame, there are nearly always more bytes.
        for index in 0..<8 { word |= UInt64(rest[index]) &<< UInt64(8 &* index) }
    } else {
        for index in rest.indices { word |= UInt64(rest[index]) &<< UInt64(8 &* index) }
    }
    let count = part.upperBound &- part.lowerBound
    return count < 8 ? word & ~(UInt64.max &<< UInt64(8 &* count)) : word
}
