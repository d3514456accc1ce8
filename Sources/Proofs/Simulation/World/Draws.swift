import SeededRandom

/// The random streams of a world, one for each subject, so that leaving a fault out changes little else.
struct Draws {
    var network: SeededGenerator
    var users: SeededGenerator
    var faults: SeededGenerator
    var pushes: SeededGenerator
    var outsiders: SeededGenerator
    var clients: SeededGenerator
    var nodes: SeededGenerator
    var unnamed: SeededGenerator
    var backend: SeededGenerator
    var decider: SeededGenerator
    /// The seed of the server's own randomness.
    let serverSeed: UInt64

    init(seed: UInt64) {
        network = SeededGenerator(seed: seed, stream: 1)
        users = SeededGenerator(seed: seed, stream: 2)
        faults = SeededGenerator(seed: seed, stream: 3)
        pushes = SeededGenerator(seed: seed, stream: 4)
        serverSeed = SeededGenerator(seed: seed, stream: 5).derivedSeed
        outsiders = SeededGenerator(seed: seed, stream: 6)
        clients = SeededGenerator(seed: seed, stream: 7)
        nodes = SeededGenerator(seed: seed, stream: 8)
        unnamed = SeededGenerator(seed: seed, stream: 9)
        backend = SeededGenerator(seed: seed, stream: 13)
        decider = SeededGenerator(seed: seed, stream: 16)
    }
}

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
