/// Eight bytes of a text as one number, so that they are tested together.
///
/// The first byte of the text is the lowest byte of the number. Swift's `SIMD16` compares more bytes at once, but
/// without unsafe code its result is read lane by lane, which costs more than it saves.
@frozen
public struct TextWord: Equatable, Sendable {
    /// The bytes as a number; bytes behind the end of the text are 0.
    public let bits: UInt64

    /// Reads the first eight bytes of a text.
    @inlinable
    @inline(__always)
    public init(_ text: Span<UInt8>) {
        guard text.count >= 8 else {
            bits = Self.bits(ofShort: text)
            return
        }
        // The compiler makes this one load.
        var bits: UInt64 = 0
        for index in 0..<8 { bits |= UInt64(text[index]) &<< UInt64(8 &* index) }
        self.bits = bits
    }

    /// Reads fewer than eight bytes, at the end of a text; not inlined, so that the other case remains short.
    @inline(never)
    @usableFromInline
    static func bits(ofShort text: Span<UInt8>) -> UInt64 {
        var bits: UInt64 = 0
        for index in text.indices { bits |= UInt64(text[index]) &<< UInt64(8 &* index) }
        return bits
    }

    /// Returns the first bytes only, 1 to 8; the others are 0.
    @inlinable
    @inline(__always)
    public func prefix(_ count: Int) -> UInt64 { bits & UInt64.max &>> UInt64(64 &- 8 &* count) }

    /// Flags of the bytes that are a quote, a backslash, a control character or behind the end of the text.
    ///
    /// The lowest flag is exact. A higher one can be wrong, by the borrow of a subtraction (Mycroft's test).
    @inlinable @inline(__always) public var specials: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let control = (bits &- ones &* 0x20) & ~bits
        let quote = bits ^ ones &* 0x22
        let backslash = bits ^ ones &* 0x5C
        return (control | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash) & (ones &* 0x80)
    }

    /// Flags of the bytes that are a backslash; the lowest flag is exact.
    @inlinable @inline(__always) public var backslashes: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let backslash = bits ^ ones &* 0x5C
        return (backslash &- ones) & ~backslash & (ones &* 0x80)
    }

    /// Returns the index of the byte with the lowest flag; at least one flag must be set.
    @inlinable
    @inline(__always)
    public static func index(ofLowest flags: UInt64) -> Int { flags.trailingZeroBitCount &>> 3 }

    /// Returns one of the bytes; `index` is from 0 to 7.
    @inlinable
    @inline(__always)
    public subscript(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: bits &>> UInt64(8 &* index)) }
}
