import CallCore
import CallPorts
import Switchboard

/// What a node knows of a socket that the owner of the calls serves through it.
struct EdgeState {
    /// The server to which the node hands the socket's frames.
    enum Owner {
        /// The server that owns the calls.
        case current
        /// A server that has lost the calls and does not know it.
        case deposed
        /// None: the frames wait at the node for the next owner.
        case none
        /// None, because the socket is closed.
        case closed
    }

    /// Something that waits at the node.
    enum Waiting {
        case frame([UInt8])
        case pong(UInt64)
    }

    /// The node that has the socket, and its run.
    var node = 0
    var life = 0
    /// Whether the socket is open at its node.
    var isOpen = false
    var owner = Owner.current
    /// The newest mark of each log: what was written to the socket.
    var marks: [CallNumber: UInt64] = [:]
    /// Whether the owner has state of the socket that no other server can restore.
    var isBound = false
    /// The commit that confirms the frames that were handed over; `nil` = none was handed over.
    var ticket: Ticket?
    /// Whether the earlier owner was handed frames whose commit it has not confirmed.
    var isUnconfirmed = false
    /// When the present owner adopted the socket.
    var adoptedAt: Int64 = 0
    /// What waits for the next owner, with the order of arrival.
    var waiting: [(order: Int, item: Waiting)] = []
}

/// A server that has lost the calls to another one and does not know it: none of its commits is kept.
struct DeposedOwner {
    let switchboard: SwitchboardBox
    /// The number of the take-over, and the run of the server that was deposed.
    let number: Int
    let run: Int
    /// The node on which it runs.
    let node: Int
    /// The commits that were durable when this owner was deposed.
    let durability: Durability
    /// The calls that it knows.
    var names: [CallNumber: CallName]
    /// For each call, the first entry that changes its course and will never be durable.
    var withheld: [CallName: UInt64] = [:]
    /// The pushes whose record will never be durable.
    var refusedPushes: Set<InvariantChecker.PushTarget> = []
    var lastTicket: Ticket
    var committed: Ticket
    /// Whether it handles the report of a commit that was durable when it lost the calls.
    var isConfirming = false
    var timerAt: Int64?
    var cancelled: Set<PushID> = []

    /// Notes what it gives to the store, which refuses it.
    mutating func refused(_ changes: [Change], as ticket: Ticket) {
        lastTicket = max(lastTicket, ticket)
        for change in changes {
            switch change {
            case .call(let record):
                names[record.number] = CallName(
                    id: record.id,
                    pair: Pair(record.caller, record.callee),
                    epoch: record.epoch
                )
            case .entry(let number, let record):
                guard Durability.changesCourse(record), let name = names[number] else { continue }
                withheld[name] = min(withheld[name] ?? .max, record.seq)
            case .event(let number, let record):
                guard case .pushSent(let device, _, _) = record.event, let name = names[number] else { continue }
                refusedPushes.insert(InvariantChecker.PushTarget(name: name, device: device))
            default: continue
            }
        }
    }
}
