/// The result of a run of the simulator.
package enum Outcome: Sendable {
    /// Every invariant held.
    case clean(Statistics)
    /// An invariant was broken.
    case broken(Violation, Statistics)
}

/// The statistics of a run.
package struct Statistics: Sendable {
    /// The number of calls that began at a server.
    package var calls = 0
    /// The number of calls that users tried to make.
    package var attempts = 0
    /// The number of worlds.
    package var worlds = 0
    /// The number of events.
    package var steps = 0
    /// Simulated time in milliseconds, over all worlds.
    package var milliseconds: Int64 = 0
    /// The number of server crashes.
    package var crashes = 0
    /// The number of times that another node took the calls over.
    package var takeOvers = 0
    /// The number of sockets that a new owner of the calls adopted.
    package var adoptions = 0
    /// The number of frames that deposed owners sent.
    package var deposedFrames = 0
    /// The number of frames that the server sent to devices.
    package var frames = 0
    /// The number of pushes that the server requested.
    package var pushes = 0
    /// The number of requests that the server sent to the app's backend.
    package var deliveries = 0
    /// The number of events for the app's backend that became durable.
    package var events = 0
    /// The number of questions that the server sent to the app's backend.
    package var questions = 0
    /// The number of calls that began and of offers that were refused, by the outcome of their decisions.
    package var decisions: [String: Int] = [:]
    /// The number of acknowledged signals.
    package var acknowledged = 0
    /// The number of calls that ended, by reason.
    package var endings: [String: Int] = [:]
    /// A hash of the course of events, to notice that two runs differ.
    package var trace: UInt64 = 0xcbf2_9ce4_8422_2325
    /// The pairs of state and event that were visited.
    package var coverage = Coverage()

    /// Mixes a part of what happened into the trace.
    mutating func mix(_ number: UInt64) { trace = (trace ^ number) &* 0x100_0000_01b3 }

    mutating func add(_ other: Statistics) {
        calls += other.calls
        attempts += other.attempts
        worlds += other.worlds
        steps += other.steps
        milliseconds += other.milliseconds
        crashes += other.crashes
        takeOvers += other.takeOvers
        adoptions += other.adoptions
        deposedFrames += other.deposedFrames
        frames += other.frames
        pushes += other.pushes
        deliveries += other.deliveries
        events += other.events
        questions += other.questions
        decisions.merge(other.decisions) { $0 + $1 }
        acknowledged += other.acknowledged
        endings.merge(other.endings) { $0 + $1 }
        mix(other.trace)
        coverage.add(other.coverage)
    }
}

/// A broken invariant, and how to reproduce it.
package struct Violation: Error, Sendable, CustomStringConvertible {
    /// The name of the invariant: `I1` … `I33`.
    package var invariant: String
    /// The fault, in one sentence.
    package var message: String
    /// The world's seed.
    package var seed: UInt64
    /// The number of calls that the world was asked for.
    package var calls: Int
    /// The faults that were injected into the world.
    package var faults: Faults
    /// The number of nodes of the world's server; 0 = one server, which is no node.
    package var nodes = 0
    /// Whether the server reported its calls to an app's backend.
    package var hasBackend = false
    /// Whether the world was one with schedules; then ``calls`` is the number of its users' actions.
    package var hasSchedules = false
    /// The number of calls of the run that had begun when the violation was found.
    package var foundAfterCalls = 0
    /// The ladder of the world: what happened, line by line.
    package var ladder: [String] = []

    /// The whole violation as text.
    package var description: String {
        var text = "\(invariant) broken: \(message)\n"
        text += "seed \(seed), \(calls) \(hasSchedules ? "actions" : "calls"), faults: \(faults.names)\n"
        text += "again: ringline-simulate --world \(seed) --faults \(faults.rawValue) --world-calls \(calls)"
        text += hasSchedules ? " --schedules" : nodes > 0 ? " --nodes \(nodes)" : ""
        text += hasBackend ? " --backend" : ""
        text += "\n"
        for line in ladder { text += line + "\n" }
        return text
    }
}

extension Violation {
    /// The violation of a scenario.
    init(invariant: String, message: String, _ scenario: Scenario) {
        self.init(
            invariant: invariant,
            message: message,
            seed: scenario.seed,
            calls: scenario.callCount,
            faults: scenario.faults
        )
        nodes = scenario.nodeCount
        hasSchedules = scenario.hasSchedules
        hasBackend = scenario.hasBackend
    }
}
