import SeededRandom

extension Simulation {
    /// How often the users of a world change, remove or confirm a schedule, or block its caller.
    static let actionsPerWorld = 40

    /// Runs worlds with schedules until the given number of calls has begun, or I20 is broken.
    ///
    /// `calls`: The number of calls of schedules to simulate; the last world may add a few more.
    /// `shrinks`: Whether to search for a smaller world that breaks the invariant.
    package static func runSchedules(seed: UInt64, calls: Int, shrinks: Bool = true) -> Outcome {
        var total = Statistics()
        var generator = SeededGenerator(seed: seed)
        while total.calls < calls {
            let one = generator.next() >> 16
            let world = World(scenario(one, actionsPerWorld, faults(for: one)))
            world.live()
            total.add(world.statistics)
            if var violation = world.course.violation {
                violation.foundAfterCalls = total.calls
                return .broken(shrinks ? shrinkSchedules(violation) : violation, total)
            }
        }
        return .clean(total)
    }

    /// Runs one world with schedules again, and records its ladder.
    ///
    /// `actions`: How often its users change, remove or confirm a schedule, or block its caller.
    package static func scheduleWorld(
        seed: UInt64,
        actions: Int,
        faults: Faults
    ) -> (Statistics, Violation?, [String]) {
        let world = World(scenario(seed, actions, faults, isRecording: true))
        world.live()
        return (world.statistics, world.course.violation, world.course.ladder)
    }

    private static func scenario(
        _ seed: UInt64,
        _ actions: Int,
        _ faults: Faults,
        isRecording: Bool = false
    ) -> Scenario {
        Scenario(seed: seed, calls: actions, faults: faults, hasSchedules: true, isRecording: isRecording)
    }

    private static func shrinkSchedules(_ violation: Violation) -> Violation {
        shrink(violation) { actions, faults in
            scheduleWorld(seed: violation.seed, actions: actions, faults: faults).1
        }
    }
}
