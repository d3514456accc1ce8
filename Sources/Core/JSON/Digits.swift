/// The decimal digits of a number below 10^16, as the bytes of two words.
struct Digits {
    /// The first digits, if there are more than eight; the first one is the lowest byte.
    private let upper: UInt64
    /// The last eight digits, or all of them.
    private let lower: UInt64
    private let upperCount: Int
    private let lowerCount: Int

    /// The number of digits.
    @inline(__always) var count: Int { upperCount &+ lowerCount }

    /// Returns the digits of a number; `nil` if it has too many.
    @inline(__always)
    init?(_ number: UInt64) {
        let (high, low) = number.quotientAndRemainder(dividingBy: 100_000_000)
        let digits = Self.eightDigits(low)
        if high == 0 {
            lowerCount = Self.count(in: digits)
            lower = (digits | Self.zeros) &>> UInt64(64 &- 8 &* lowerCount)
            upper = 0
            upperCount = 0
            return
        }
        guard high < 100_000_000 else { return nil }
        let first = Self.eightDigits(high)
        upperCount = Self.count(in: first)
        upper = (first | Self.zeros) &>> UInt64(64 &- 8 &* upperCount)
        lower = digits | Self.zeros
        lowerCount = 8
    }

    private static var zeros: UInt64 { 0x3030_3030_3030_3030 }

    /// Returns the values of the eight digits of a number, the first one in the lowest byte.
    ///
    /// The number is divided in halves of four digits, then of two, then of one, and all parts at once: division by a
    /// constant is multiplication by its reciprocal.
    @inline(__always)
    private static func eightDigits(_ number: UInt64) -> UInt64 {
        let (high, low) = number.quotientAndRemainder(dividingBy: 10_000)
        let fours = high | low &<< 32
        let hundreds = (fours &* 10_486) &>> 20 & 0x0000_007F_0000_007F
        let twos = hundreds | (fours &- hundreds &* 100) &<< 16
        let tens = (twos &* 103) &>> 10 & 0x000F_000F_000F_000F
        return tens | (twos &- tens &* 10) &<< 8
    }

    /// Returns the number of digits without the zeros in front, at least one.
    @inline(__always)
    private static func count(in digits: UInt64) -> Int { 8 &- min(7, digits.trailingZeroBitCount &>> 3) }

    @inline(__always)
    func write(into part: inout OutputSpan<UInt8>) {
        Self.write(upper, count: upperCount, into: &part)
        Self.write(lower, count: lowerCount, into: &part)
    }

    /// Writes the lowest bytes of a word.
    @inline(__always)
    static func write(_ word: UInt64, count: Int, into part: inout OutputSpan<UInt8>) {
        var rest = word
        for _ in 0..<count {
            part.append(UInt8(truncatingIfNeeded: rest))
            rest &>>= 8
        }
    }
}
