import CallCore
import CallPorts
import SeededRandom
import Switchboard

/// How the app's backend of a world decides about offers; all of it comes from the world's seed.
///
/// It has a stream of its own, so that worlds whose backend decides nothing are the same as before there were decisions.
struct DeciderPlan {
    /// The operator's settings.
    let policy: DecisionPolicy
    /// Whether the caller's name is the backend's alone.
    let namesCallers: Bool
    /// How many of a hundred offers it refuses openly, hides, and changes.
    let shares: (refused: Int, hidden: Int, changed: Int)
    /// How many of a hundred questions fail, or get a response that is none.
    let failShare: Int
    /// The user whose questions always fail; `nil` = there is none.
    let faultyUser: UserID?
    /// The time between two outages, on average, in milliseconds; `nil` = there are none.
    let outageEvery: Int64?
    /// The time between two waves of a crowd of other callers, on average, in milliseconds; `nil` = there is no crowd.
    let waveEvery: Int64?
    /// The number of callers of the crowd.
    let crowd: Int

    /// The plan of a world; `nil` = its backend decides nothing.
    init?(_ scenario: Scenario) {
        guard scenario.hasBackend else { return nil }
        var generator = SeededGenerator(seed: scenario.seed, stream: 15)
        guard generator.percent(50) else { return nil }
        let timeouts: [Int64] = [100, 300, 1_000, 1_000, 1_000, 2_000, 5_000]
        policy = DecisionPolicy(
            timeout: .milliseconds(timeouts[generator.below(timeouts.count)]),
            failure: generator.percent(50) ? .allow : .refuse
        )
        namesCallers = generator.percent(25)
        let few = [0, 5, 15, 40][generator.below(4)]
        shares = (refused: few, hidden: [0, 5, 15][generator.below(3)], changed: [0, 20, 60][generator.below(3)])
        let isFaulty = scenario.faults.contains(.backend)
        let share = [0, 3, 10, 30][generator.below(4)]
        let names = ["10", "11", "12", "a-b", "s0", "s0", "s1"]
        let faulty = names[generator.below(names.count)]
        let hasFaultyUser = generator.percent(40)
        let outages: Int64? = generator.percent(60) ? generator.within(8_000...40_000) : nil
        let waves: Int64? = generator.percent(50) ? generator.within(2_000...12_000) : nil
        failShare = isFaulty ? share : 0
        faultyUser = isFaulty && hasFaultyUser ? UserID(faulty) : nil
        outageEvery = isFaulty ? outages : nil
        waveEvery = waves
        crowd = [1, 3, 4, 7, 9][generator.below(5)]
    }
}
