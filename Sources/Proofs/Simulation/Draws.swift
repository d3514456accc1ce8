import SeededRandom

/// Random choices of the simulated world, which all come from generators with one seed.
extension SeededGenerator {
    /// Returns a number from a closed range.
    mutating func within(_ range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next() >> 33) % (range.upperBound - range.lowerBound + 1)
    }

    /// Returns `true` with a probability of `share` percent.
    mutating func percent(_ share: Int) -> Bool { below(100) < share }

    /// Returns one of several items, or `nil` if there are none.
    mutating func pick<T>(_ items: [T]) -> T? { items.isEmpty ? nil : items[below(items.count)] }

    /// The number that the generator will give next, as the seed of another generator.
    var derivedSeed: UInt64 {
        var copy = self
        return copy.next()
    }
}
