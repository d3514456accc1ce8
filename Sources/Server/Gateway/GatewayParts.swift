import CallCore
import CallPorts
import DequeModule
import LibWebSockets
import SocketIO
import Switchboard
import Threads

/// The loops of a gateway.
struct LoopTable {
    /// The loop on the gateway's own thread; set once, before it runs.
    var own: SocketLoop?
    /// The loops on other threads, in order.
    var others: [SocketLoopHandle] = []
    /// What compresses pages of the call directory for all loops.
    let compressor = PageCompressor()
}

/// The inputs and outputs of the switchboard that are under way in a turn of the loop.
struct TurnQueue {
    /// The inputs that wait until the present one is handled.
    var inputs = Deque<Switchboard.Input>()
    /// The outputs that are not performed yet.
    var outputs: [Switchboard.Output] = []
    /// The connections to be pinged at the end of the turn, each with the number of its ping.
    var pings: [SocketID: UInt64] = [:]
    /// Whether an input is being handled, or changes are being committed.
    var isBusy = false
}

/// The open store, and the commits that were passed to it.
struct Commits {
    /// The store; `nil` while this node does not own the calls.
    var store: (any CallStore)?
    /// When changes were last passed to a store that commits asynchronously.
    var last: Moment?
    /// Whether the store's last commit was durable at once, as in memory.
    var areImmediate = false
}

/// The requests that have no response yet.
struct RequestTable {
    /// Their `Origin` headers, which the CORS headers of the response need.
    var origins: [RequestID: String] = [:]
    /// This node's own ones, if the server is one of several.
    var open: Set<RequestID> = []
}

/// What the operators' side of a gateway needs.
struct OperatorDesk {
    /// The hosts that operators may name.
    let hosts: AdminHosts
    /// The port at which operators are served; `nil` before it is open.
    var port: Int?
    /// Why the opening of the store takes long; `nil` = no reason is known.
    let startDelay = Monitor<StartDelay?>(nil)
    /// The completion handlers of the commands that are not durable yet.
    var completions: [OperatorCommandID: @Sendable () -> Void] = [:]
    private var lastCommand: UInt64 = 0

    init(hosts: AdminHosts) { self.hosts = hosts }

    /// Returns the number of a new command, whose completion handler is `done`.
    mutating func note(_ done: @escaping @Sendable () -> Void) -> OperatorCommandID {
        lastCommand += 1
        let id = OperatorCommandID(rawValue: lastCommand)
        completions[id] = done
        return id
    }
}

/// What a gateway counts for its metrics.
struct GatewayCounts {
    /// The connections that were closed because they read too slowly.
    var queueDrops: UInt64 = 0
    /// The unauthenticated Socket.IO sessions that were closed, by reason.
    var unauthenticatedDropped: [DroppedUnauthenticatedSession: UInt64] = [:]
    /// The packets that Socket.IO sessions refused themselves, by reason.
    var packetsRefused: [PacketRefusal: UInt64] = [:]
    /// The process figures that are read once, at the start.
    var startFigures = ProcessFigures.StartFigures()
}

/// The end of a gateway's run.
struct Ending {
    /// The deadline of a shutdown; `nil` = none has begun.
    var by: Moment?
    /// The second in which the connections that are still open were last logged.
    var loggedAt: Int64 = 0
    /// Whether the node was deposed, so that its process must re-execute.
    var needsNewRun = false
    /// The failure for which the server ended.
    var storeFailure: StoreFailure?
}
