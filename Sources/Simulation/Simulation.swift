/// Whole worlds in simulated time: the real server logic, clients, networks, phones, pushes, crashes and chance.
///
/// One seed is one course of events, whatever the machine.
public enum Simulation {
    /// How many calls one world is asked for, at most.
    static let callsPerWorld = 12

    /// Lives worlds until so many calls have begun, or an invariant is broken.
    ///
    /// `calls`: How many calls to simulate; the last world may make it a few more.
    /// `progress`: Told the statistics so far, every few thousand calls.
    public static func run(
        seed: UInt64,
        calls: Int,
        shrinks: Bool = true,
        progress: (Statistics) -> Void = { _ in }
    ) -> Outcome {
        var total = Statistics()
        var chance = Chance(seed: seed)
        var reported = 0
        while total.calls < calls {
            let one = chance.next() >> 16
            let faults = Self.faults(for: one)
            let world = World(seed: one, calls: callsPerWorld, faults: faults, isRecording: false)
            world.live()
            var statistics = world.statistics
            statistics.coverage = world.watch.coverage
            total.add(statistics)
            if var violation = world.violation {
                violation.foundAfterCalls = total.calls
                if shrinks { violation = shrink(violation) }
                return .broken(violation, total)
            }
            if total.calls >= reported + 10_000 {
                reported = total.calls
                progress(total)
            }
        }
        return .clean(total)
    }

    /// Lives one world again, and writes down what happens.
    public static func world(seed: UInt64, calls: Int, faults: Faults) -> (Statistics, Violation?, [String]) {
        let world = World(seed: seed, calls: calls, faults: faults, isRecording: true)
        world.live()
        var statistics = world.statistics
        statistics.coverage = world.watch.coverage
        return (statistics, world.violation, world.ladder)
    }

    /// Some worlds know all faults, some few, some none.
    static func faults(for seed: UInt64) -> Faults {
        var chance = Chance(seed: seed, stream: 20)
        switch chance.below(10) {
        case 0: return []
        case 1, 2, 3: return .all
        default: return Faults(rawValue: UInt32(truncatingIfNeeded: chance.next())).intersection(.all)
        }
    }

    /// Looks for a smaller world that breaks the same invariant: fewer faults, fewer calls.
    static func shrink(_ violation: Violation) -> Violation {
        var best = violation
        func attempt(_ calls: Int, _ faults: Faults) -> Bool {
            let world = World(seed: violation.seed, calls: calls, faults: faults, isRecording: true)
            world.live()
            guard var found = world.violation, found.invariant == violation.invariant else { return false }
            found.foundAfterCalls = violation.foundAfterCalls
            best = found
            return true
        }
        guard attempt(violation.calls, violation.faults) else { return best }
        for (fault, _) in Faults.named where best.faults.contains(fault) {
            _ = attempt(best.calls, best.faults.subtracting(fault))
        }
        for calls in 1..<max(2, best.calls) where attempt(calls, best.faults) { break }
        for (fault, _) in Faults.named where best.faults.contains(fault) {
            _ = attempt(best.calls, best.faults.subtracting(fault))
        }
        return best
    }
}
