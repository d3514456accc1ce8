/// The only source of randomness in a simulated world: SplitMix64 (Steele, Lea, Flood 2014), from one seed.
struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Creates a separate stream, so that the draws of one part of the world do not change those of another part.
    init(seed: UInt64, stream: UInt64) {
        var mixer = Chance(seed: seed &+ stream &* 0xD1B5_4A32_D192_ED03)
        state = mixer.next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Returns a number from 0 to `count`, exclusive.
    mutating func below(_ count: Int) -> Int { Int(next() >> 33) % max(1, count) }

    /// Returns a number from a closed range.
    mutating func within(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next() >> 33) % (range.upperBound - range.lowerBound + 1)
    }

    /// Returns `true` with a probability of `share` percent.
    mutating func percent(_ share: Int) -> Bool { below(100) < share }

    /// Returns one of several items, or `nil` if there are none.
    mutating func pick<T>(_ items: [T]) -> T? { items.isEmpty ? nil : items[below(items.count)] }
}
