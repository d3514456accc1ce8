import CallCore
import CallPorts
import Nodes
import Switchboard

/// One node of a server of several nodes: what `Node` and `Gateway` hold, around the same machine.
final class SimulatedNode {
    /// The number of the node, from 0; it is also its address.
    let number: Int
    /// A number that changes with each beginning and each end of a run of the node.
    var life = 0
    /// The id of this run.
    var id: NodeID
    /// The node's decisions, the same that `Node` has in the server.
    var machine: NodeMachine
    /// The effects that are not carried out yet.
    var effects = EffectQueue<NodeMachine.Effect>()
    /// How far this node's clock is ahead of the world's, in milliseconds; negative = behind.
    var ahead: Int64 = 0

    /// Whether the process runs.
    var isRunning = false
    /// Whether the machine is off: nothing answers at the node's address.
    var isOff = false
    /// Whether the process is stopped, with all its threads.
    var isFrozen = false
    /// Whether the loop waits until the store has released the calls.
    var isReleasing = false
    /// The events that arrived while the process or its loop is stopped, in order.
    var held: [NodeEvent] = []
    /// Whether the process is to end.
    var isEnding = false
    /// Whether the database cannot be reached from this node.
    var isCutFromDatabase = false
    /// A number that changes whenever the database gets out of reach or can be reached again.
    var databaseChanges = 0

    /// The number of the newest timer, and when it is due.
    var timer = 0
    var timerAt: Int64?

    /// The sockets and requests of this node.
    var sockets: Set<Int> = []
    var exchanges: Set<Int> = []
    /// Whether the events of these sockets go to the machine, and not to the switchboard.
    var passesEventsOn = true
    /// The newest ownership of which this run has learned.
    var newestKnown = OwnerEpoch.none
    /// The node's ends of the links that the machine knows.
    var links: [LinkID: (link: NodeLink, end: Int)] = [:]
    /// The users whose tokens the node refuses.
    var revokedUsers: [UserID: Moment] = [:]
    /// The attempt to connect that is under way.
    var attempt: LinkID?

    // The node as the owner.
    var claimed: Claimed?
    var store: NodeStore?
    /// The switchboard of an owner that was deposed, whether it knows that or not; the present owner's is the world's.
    var deposed: DeposedOwner?

    /// The result of a claim, until the node takes it over.
    struct Claimed {
        let epoch: OwnerEpoch
        let state: StoredState
        /// The calls with a stored log, with that log.
        let calls: [StoredCall]
        /// What was durable when the state was read.
        let durability: Durability
    }

    init(number: Int, id: NodeID, at now: Moment) {
        self.number = number
        self.id = id
        machine = NodeMachine(node: id, at: now)
    }

    var isServing: Bool { machine.tenure.isServing }

    /// Whether the loop is stopped.
    var isStopped: Bool { isFrozen || isReleasing }

    var name: String { "node \(number)" }

    /// The node's store, if it is the one with a number.
    func store(_ number: Int) -> NodeStore? { store.flatMap { $0.number == number ? $0 : nil } }
}

/// The store of an owner, as `PostgresStore` behaves: its commits are transactions that check the epoch, and after a
/// lost connection it reads which of them are durable.
final class NodeStore {
    enum Item {
        case commit([Change], Ticket)
        case query(StoreQuery, StoreQueryID)
    }

    let epoch: OwnerEpoch
    /// A number that distinguishes this store from all others in the world.
    let number: Int
    var queue: [Item] = []
    /// The number of items in the transaction that is under way.
    var underWay = 0
    /// The number of the newest transaction.
    var attempt = 0
    /// The newest durable ticket.
    var durable = Ticket(rawValue: 0)
    var isStalled = false
    /// Whether the result of the transaction is not known.
    var isInDoubt = false
    /// Whether the database has refused a commit.
    var isDeposed = false
    /// Whether the store commits the rest, and then releases the database to the heir.
    var release: Release?

    struct Release {
        let heir: NodeID?
    }

    init(epoch: OwnerEpoch, number: Int) {
        self.epoch = epoch
        self.number = number
    }

    /// Takes the items whose results are known from the queue: the newest durable ticket, and the queries before the
    /// first commit that is not durable.
    func takeDurable() -> (newest: Ticket?, queries: [(StoreQueryID, StoreQuery)]) {
        var newest: Ticket?
        var queries: [(StoreQueryID, StoreQuery)] = []
        taking: while let first = queue.first {
            switch first {
            case .commit(_, let ticket):
                guard ticket <= durable else { break taking }
                newest = ticket
            case .query(let query, let id): queries.append((id, query))
            }
            queue.removeFirst()
        }
        return (newest, queries)
    }
}

/// A TCP connection between two nodes: an ordered stream of messages in each direction.
final class NodeLink {
    enum Message {
        case hello(Hello)
        case proof
        case refused(NodeFrame.LinkRefusal)
        case frame(NodeFrame)
        /// The end of the stream.
        case end
    }

    /// One end of the connection.
    struct End {
        let node: Int
        /// The run of the node to which the end belongs.
        let life: Int
        /// Whether the other side has proved itself.
        var isOpen = false
        /// Whether this side has ended the connection.
        var isClosed = false
        /// The other side's hello.
        var peer: Hello?
        /// The number by which the node's machine knows the link.
        var number: LinkID?
        /// The pings, while the connection may be silent; otherwise they would only make a world slower.
        var watch: LinkWatch?
        /// The messages on the way to this end.
        var arriving: [Message] = []
        /// How many of them wait for the network.
        var stuck = 0
        /// The earliest time at which the next message may arrive.
        var until: Int64 = 0
    }

    let id: Int
    /// Whether the network has cut the connection: nothing more passes.
    var isCut = false
    /// Whether one side was not told of the cut.
    var isHalfOpen = false
    /// The end that connected, and the end that accepted.
    var ends: [End]

    init(id: Int, client: End, server: End) {
        self.id = id
        ends = [client, server]
    }

    static let client = 0
    static let server = 1
}

/// Something that happens to a run of a node.
enum NodeEvent {
    case timer(Int)
    /// The result of a reading of the owner's row; `nil` = the database could not be reached.
    case row(OwnerRow?)
    case loading
    case claimed(SimulatedNode.Claimed, others: Set<NodeID>)
    case claimLost
    case claimFailed
    /// The store's transaction with this number is durable.
    case committed(store: Int, attempt: Int)
    /// The database has refused a transaction of the store.
    case refused(store: Int)
    /// The store connects again, or renews the lease.
    case renews(store: Int)
    /// The store has waited too long; the number is that of the change by which the database got out of reach.
    case stalls(store: Int, change: Int)
    /// The store reports to the loop.
    case report(store: Int, StoreReport)
    /// The store is closed, and the row is released or the store has given up.
    case closed(store: Int)
    /// The loop goes on after its store was closed.
    case released(OwnerEpoch)
    /// An attempt to connect has succeeded; `nil` = the connection was refused.
    case connected(LinkID, NodeLink?)
    case arrived(NodeLink, end: Int, NodeLink.Message)
    case socketOpened(Int)
    case socketReceived(Int, [UInt8])
    case socketPonged(Int, UInt64)
    case socketClosed(Int)
    case requested(Int)
    case ownerTimer
    case pushArrives(OutgoingPush, run: Int)
    case pushResult(PushID, PushResult, run: Int)
    case deliveryResult(DeliveryID, DeliveryResult, run: Int)
    case decision(DecisionID, DecisionAnswer, run: Int)
    case begins

    /// Whether a thread of the store handles the event, while the loop may stand still.
    var isOfStore: Bool {
        switch self {
        case .committed, .refused, .renews, .stalls, .closed: true
        default: false
        }
    }
}

/// A request of a run of a node at the database.
enum DatabaseRequest {
    case read
    case claim(after: OwnerEpoch, above: OwnerEpoch)
    /// The calls of a claim that was carried out are read.
    case load(OwnerEpoch)
    case commit(store: Int, attempt: Int)
    case release(store: Int)
}
