/// A generator of pseudorandom numbers that gives the same numbers for the same seed on every run and machine.
///
/// The algorithm is SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA 2014).
/// It is for simulations and tests, and never for secrets.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    @usableFromInline var state: UInt64

    /// Creates a generator with a seed.
    @inlinable
    package init(seed: UInt64) { state = seed }

    /// Creates one of the separate streams of a seed.
    ///
    /// Each part of a simulated world has its own stream, so that the numbers that one part draws do not change the
    /// numbers of another part.
    @inlinable
    package init(seed: UInt64, stream: UInt64) {
        var mixer = SeededGenerator(seed: seed &+ stream &* 0xD1B5_4A32_D192_ED03)
        state = mixer.next()
    }

    /// Returns the next number.
    @inlinable
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `count`, exclusive; 0 if `count` is less than 2.
    @inlinable
    package mutating func below(_ count: Int) -> Int { Int(next() >> 33) % max(1, count) }
}
