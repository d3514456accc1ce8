import SeededRandom
import Testing

@Suite("The generator with a seed")
struct SeededGeneratorTests {
    @Test("The generator gives the published numbers of SplitMix64")
    func numbers() {
        var generator = SeededGenerator(seed: 1_234_567)
        // From the reference implementation by Sebastiano Vigna.
        #expect(generator.next() == 6_457_827_717_110_365_317)
        #expect(generator.next() == 3_203_168_211_198_807_973)
        #expect(generator.next() == 9_817_491_932_198_370_423)
    }

    @Test("A stream's first number follows from the seed and the stream's number, as all recorded traces assume")
    func stream() {
        var generator = SeededGenerator(seed: 7, stream: 3)
        #expect(generator.next() == 16_713_928_944_968_095_132)
    }

    @Test("A number below a count is never negative and never the count")
    func below() {
        var generator = SeededGenerator(seed: 1)
        #expect((0..<1_000).allSatisfy { _ in (0..<7).contains(generator.below(7)) })
        #expect(generator.below(0) == 0 && generator.below(1) == 0)
    }
}
