/// The result of a run of the simulator.
public enum Outcome: Sendable {
    /// Every invariant held.
    case clean(Statistics)
    /// An invariant was broken.
    case broken(Violation, Statistics)
}

/// The statistics of a run.
public struct Statistics: Sendable {
    /// The number of calls that began at a server.
    public var calls = 0
    /// The number of calls that users tried to make.
    public var attempts = 0
    /// The number of worlds.
    public var worlds = 0
    /// The number of events.
    public var steps = 0
    /// Simulated time in milliseconds, over all worlds.
    public var milliseconds: Int64 = 0
    /// The number of server crashes.
    public var crashes = 0
    /// The number of times that another node took the calls over.
    public var takeOvers = 0
    /// The number of sockets that a new owner of the calls adopted.
    public var adoptions = 0
    /// The number of frames that deposed owners sent.
    public var deposedFrames = 0
    /// The number of frames that the server sent to devices.
    public var frames = 0
    /// The number of pushes that the server requested.
    public var pushes = 0
    /// The number of acknowledged signals.
    public var acknowledged = 0
    /// The number of calls that ended, by reason.
    public var endings: [String: Int] = [:]
    /// A hash of the course of events, to notice that two runs differ.
    public var trace: UInt64 = 0xcbf2_9ce4_8422_2325
    /// The pairs of state and event that were visited.
    public var coverage = Coverage()

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
        acknowledged += other.acknowledged
        endings.merge(other.endings) { $0 + $1 }
        mix(other.trace)
        coverage.add(other.coverage)
    }
}

/// A broken invariant, and how to reproduce it.
public struct Violation: Error, Sendable, CustomStringConvertible {
    /// The name of the invariant: `I1` … `I20`.
    public var invariant: String
    /// The fault, in one sentence.
    public var message: String
    /// The world's seed.
    public var seed: UInt64
    /// The number of calls that the world was asked for.
    public var calls: Int
    /// The faults that were injected into the world.
    public var faults: Faults
    /// The number of nodes of the world's server; 0 = one server, which is no node.
    public var nodes = 0
    /// Whether the world was one with schedules; then ``calls`` is the number of its users' actions.
    public var hasSchedules = false
    /// The number of calls of the run that had begun when the violation was found.
    public var foundAfterCalls = 0
    /// The ladder of the world: what happened, line by line.
    public var ladder: [String] = []

    /// The whole violation as text.
    public var description: String {
        var text = "\(invariant) broken: \(message)\n"
        text += "seed \(seed), \(calls) \(hasSchedules ? "actions" : "calls"), faults: \(faults.names)\n"
        text += "again: ringline-simulate --world \(seed) --faults \(faults.rawValue) --world-calls \(calls)"
        text += hasSchedules ? " --schedules" : nodes > 0 ? " --nodes \(nodes)" : ""
        text += "\n"
        for line in ladder { text += line + "\n" }
        return text
    }
}
