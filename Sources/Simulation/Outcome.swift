/// What a run of the simulator found.
public enum Outcome: Sendable {
    /// Every invariant held.
    case clean(Statistics)
    /// One was broken.
    case broken(Violation, Statistics)
}

/// What was simulated.
public struct Statistics: Sendable {
    /// Calls begun at a server.
    public var calls = 0
    /// Calls that users wanted to make.
    public var attempts = 0
    /// Worlds.
    public var worlds = 0
    /// Events.
    public var steps = 0
    /// Simulated time in milliseconds, over all worlds.
    public var milliseconds: Int64 = 0
    /// Server crashes.
    public var crashes = 0
    /// Frames relayed to phones.
    public var frames = 0
    /// Pushes ordered.
    public var pushes = 0
    /// Signals acknowledged.
    public var acknowledged = 0
    /// How calls ended, by reason.
    public var endings: [String: Int] = [:]
    /// A number that is different as soon as anything in the course of events is.
    public var trace: UInt64 = 0xcbf2_9ce4_8422_2325
    /// Which pairs of state and event were visited.
    public var coverage = Coverage()

    mutating func add(_ other: Statistics) {
        calls += other.calls
        attempts += other.attempts
        worlds += other.worlds
        steps += other.steps
        milliseconds += other.milliseconds
        crashes += other.crashes
        frames += other.frames
        pushes += other.pushes
        acknowledged += other.acknowledged
        endings.merge(other.endings) { $0 + $1 }
        trace = (trace ^ other.trace) &* 0x100_0000_01b3
        coverage.add(other.coverage)
    }
}

/// A broken invariant, and how to see it again.
public struct Violation: Error, Sendable, CustomStringConvertible {
    /// Which one: `I1` … `I11`.
    public var invariant: String
    /// What is wrong, in one sentence.
    public var message: String
    /// The world's seed.
    public var seed: UInt64
    /// How many calls that world was asked for.
    public var calls: Int
    /// What went wrong in it besides.
    public var faults: Faults
    /// How many calls of the run had begun when it was found.
    public var foundAfterCalls = 0
    /// What happened, line by line.
    public var ladder: [String] = []

    /// All of it as text.
    public var description: String {
        var text = "\(invariant) broken: \(message)\n"
        text += "seed \(seed), \(calls) calls, faults: \(faults.names)\n"
        text += "again: ringline simulate --world \(seed) --faults \(faults.rawValue) --world-calls \(calls)\n"
        for line in ladder { text += line + "\n" }
        return text
    }
}
