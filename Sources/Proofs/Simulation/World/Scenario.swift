/// The parameters of a world: the same scenario gives the same course of events.
struct Scenario {
    let seed: UInt64
    /// The number of calls that its users plan to make, or of their actions in a world with schedules.
    let callCount: Int
    let faults: Faults
    /// The number of nodes of its server; 0 = one server, which is no node.
    var nodeCount = 0
    /// Whether its users have schedules, and no sockets.
    var hasSchedules = false
    /// Whether the server reports its calls to an app's backend.
    var hasBackend = false
    /// Whether its ladder is recorded.
    var isRecording = false

    init(
        seed: UInt64,
        calls: Int,
        faults: Faults,
        nodes: Int = 0,
        hasSchedules: Bool = false,
        hasBackend: Bool = false,
        isRecording: Bool
    ) {
        self.seed = seed
        callCount = calls
        // Servers of several nodes withhold their decisions.
        self.faults = nodes > 0 ? faults.union(.withholding) : faults
        nodeCount = nodes
        self.hasSchedules = hasSchedules
        self.hasBackend = hasBackend
        self.isRecording = isRecording
    }

    var hasNodes: Bool { nodeCount > 0 }

    /// How long after its beginning a call must have reached the callee's devices (I6), in milliseconds: the time for a
    /// probe and for the commits.
    var deliveryTime: Int64 { 2_600 + commitTime }

    /// The longest time for the two commits that precede a push, in milliseconds; 0 if the server does not withhold its
    /// decisions.
    var commitTime: Int64 { faults.contains(.withholding) ? 2_200 : 0 }

    /// The longest time by which a clock that was set back may extend a ring or do-not-disturb, in milliseconds.
    var longestLeap: Int64 { faults.contains(.leaps) ? 40_000 : 0 }
}
