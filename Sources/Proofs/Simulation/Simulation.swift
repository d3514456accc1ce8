import SeededRandom

/// Whole worlds in simulated time: the real server logic with simulated clients, networks, devices, pushes and crashes.
///
/// One seed determines one course of events, on every machine.
package enum Simulation {
    /// The largest number of calls that one world is asked for.
    static let callsPerWorld = 12

    /// Runs worlds until the given number of calls has begun, or an invariant is broken.
    ///
    /// `calls`: The number of calls to simulate; the last world may add a few more.
    /// `always`: The faults that every world has.
    /// `nodes`: The number of nodes of each world's server, ``nodeCounts``; 0 = one server, which is no node.
    /// `backend`: Whether each world's server reports its calls to an app's backend.
    /// `shrinks`: Whether to search for a smaller world that breaks the same invariant.
    /// `progress`: Called with the statistics so far, after every 10,000 calls.
    package static func run(
        seed: UInt64,
        calls: Int,
        always: Faults = [],
        nodes: Int = 0,
        backend: Bool = false,
        shrinks: Bool = true,
        progress: (Statistics) -> Void = { _ in }
    ) -> Outcome {
        var total = Statistics()
        var generator = SeededGenerator(seed: seed)
        var reported = 0
        while total.calls < calls {
            let one = generator.next() >> 16
            var faults = Self.faults(for: one, nodes: nodes).union(always)
            if backend, Self.isBackendFaulty(for: one) { faults.insert(.backend) }
            let world = World(scenario(one, callsPerWorld, faults, nodes, backend, isRecording: false))
            world.live()
            total.add(world.statistics)
            if var violation = world.course.violation {
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

    /// Runs one world again, and records its ladder.
    package static func world(
        seed: UInt64,
        calls: Int,
        faults: Faults,
        nodes: Int = 0,
        backend: Bool = false
    ) -> (Statistics, Violation?, [String]) {
        let world = World(scenario(seed, calls, faults, nodes, backend, isRecording: true))
        world.live()
        return (world.statistics, world.course.violation, world.course.ladder)
    }

    private static func scenario(
        _ seed: UInt64,
        _ calls: Int,
        _ faults: Faults,
        _ nodes: Int,
        _ backend: Bool,
        isRecording: Bool
    ) -> Scenario {
        Scenario(
            seed: seed,
            calls: calls,
            faults: faults,
            nodes: nodes,
            hasBackend: backend,
            isRecording: isRecording
        )
    }

    /// Returns whether the endpoints of a world's backend fail: in four fifths of the worlds that have one.
    static func isBackendFaulty(for seed: UInt64) -> Bool {
        var generator = SeededGenerator(seed: seed, stream: 23)
        return generator.below(5) > 0
    }

    /// Returns the faults of a world: some worlds have all faults, most have a random selection, some have none.
    ///
    /// In half of the worlds the server withholds its decisions.
    static func faults(for seed: UInt64) -> Faults {
        var generator = SeededGenerator(seed: seed, stream: 20)
        var faults: Faults =
            switch generator.below(10) {
            case 0: []
            case 1, 2, 3: .all
            default: Faults(rawValue: UInt32(truncatingIfNeeded: generator.next())).intersection(.all)
            }
        if generator.below(2) == 0 { faults.insert(.withholding) }
        return faults
    }

    /// Returns the faults of a world whose server has several nodes.
    ///
    /// Such a server always withholds its decisions. In three quarters of the worlds, nodes stand still, and links and
    /// the way to the database are disturbed. In half of them, some clients give no device id, and in half of them, one
    /// side of a link that is cut is not told.
    static func faults(for seed: UInt64, nodes: Int) -> Faults {
        var faults = faults(for: seed)
        guard nodes > 0 else { return faults }
        var generator = SeededGenerator(seed: seed, stream: 22)
        faults.insert(.withholding)
        if generator.below(4) > 0 { faults.insert(.takeOver) }
        if generator.below(2) > 0 { faults.insert(.unnamed) }
        if generator.below(2) > 0 { faults.insert(.halfCuts) }
        return faults
    }

    /// The numbers of nodes that a simulated server may have.
    package static let nodeCounts = 1...8

    /// Searches for a smaller world that breaks the same invariant: with fewer faults and fewer calls.
    static func shrink(_ violation: Violation) -> Violation {
        shrink(violation) { calls, faults in
            world(
                seed: violation.seed,
                calls: calls,
                faults: faults,
                nodes: violation.nodes,
                backend: violation.hasBackend
            ).1
        }
    }

    /// Searches for a smaller world that breaks the same invariant; `live` lives through a world with so many calls and
    /// these faults, and returns what it has broken.
    static func shrink(_ violation: Violation, _ live: (Int, Faults) -> Violation?) -> Violation {
        var best = violation
        func attempt(_ calls: Int, _ faults: Faults) -> Bool {
            guard var found = live(calls, faults), found.invariant == violation.invariant else { return false }
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
