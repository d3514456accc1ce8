import Simulation
import Testing

@Suite("A simulated world")
struct WorldTests {
    @Test("holds every invariant, whatever goes wrong", arguments: [1, 2, 3] as [UInt64])
    func holds(seed: UInt64) {
        switch Simulation.run(seed: seed, calls: 150) {
        case .clean(let statistics):
            #expect(statistics.calls >= 150)
            #expect(statistics.acknowledged > 0)
            #expect(statistics.pushes > 0)
        case .broken(let violation, _): Issue.record("\(violation)")
        }
    }

    @Test("takes the same course when it is lived again, to the last byte")
    func repeats() {
        for seed in 40..<46 as Range<UInt64> {
            let (first, _, ladder) = Simulation.world(seed: seed, calls: 8, faults: .all)
            let (second, _, again) = Simulation.world(seed: seed, calls: 8, faults: .all)
            #expect(first.trace == second.trace)
            #expect(ladder == again)
            #expect(!ladder.isEmpty)
        }
    }

    @Test("takes another course with another seed")
    func differs() {
        let (first, _, _) = Simulation.world(seed: 1, calls: 4, faults: .all)
        let (second, _, _) = Simulation.world(seed: 2, calls: 4, faults: .all)
        #expect(first.trace != second.trace)
    }
}

/// Worlds in which something was once wrong; what it was stands in the commit that mended it.
@Suite("A world that once failed")
struct FoundSeedTests {
    @Test(
        "holds now",
        arguments: [
            // The end was written to a half-open socket and counted as told.
            (223_490_176_087_137, 12, 3_911),
            // A candidate for one peer went into the call with another one of the same name.
            (273_312_977_451_826, 12, 8_191),
            // A replaced call was forgotten before everybody had heard of its end.
            (122_713_350_762_316, 12, 8_127),
            // A renegotiation that crossed the end rang everybody anew.
            (236_250_762_908_360, 12, 593),
        ] as [(UInt64, Int, UInt32)]
    )
    func holds(seed: UInt64, calls: Int, faults: UInt32) {
        let (_, violation, _) = Simulation.world(seed: seed, calls: calls, faults: Faults(rawValue: faults))
        if let violation { Issue.record("\(violation)") }
    }
}
