internal import CLibwebsockets

/// Where a connection stands.
enum ConnectionPhase: UInt8 {
    /// HTTP: connecting, between requests, or a response is under way.
    case http
    /// A request's body is arriving. → `pending`
    case body
    /// A request was handed up and has no response yet. → `http`
    case pending
    /// A refused request's rest is read and thrown away until the peer or a deadline ends it.
    case lingering
    /// An upgrade was admitted, 101 is on its way. → `open`
    case admitted
    /// The same, to be closed at once. → `closing`
    case admittedToClose
    /// A WebSocket session.
    case open
    /// A close was asked for: the queue is flushed, then the close frame goes out. → `closed`
    case closing
    /// The library is finishing it, or has.
    case closed
}

/// One frame that waits for its turn.
struct WaitingFrame {
    /// `Server.headroom` spare bytes, then the payload.
    var bytes: [UInt8]
    var isPing: Bool
}

/// What waits for one slow reader, first in first out; empty it owns no memory.
struct FrameQueue {
    private var frames: [WaitingFrame] = []
    private var head = 0
    private(set) var bytes = 0

    var isEmpty: Bool { head == frames.count }
    var first: WaitingFrame? { head < frames.count ? frames[head] : nil }

    mutating func append(_ frame: WaitingFrame) {
        frames.append(frame)
        bytes += frame.bytes.count - Server.headroom
    }

    mutating func popFirst() -> WaitingFrame? {
        guard head < frames.count else { return nil }
        let frame = frames[head]
        frames[head].bytes = []
        head += 1
        bytes -= frame.bytes.count - Server.headroom
        if head == frames.count {
            removeAll()
        } else if head >= 64, head * 2 >= frames.count {
            frames.removeFirst(head)
            head = 0
        }
        return frame
    }

    mutating func removeAll() {
        frames = []
        head = 0
        bytes = 0
    }
}

/// A request that is being read or awaits its response.
struct Exchange {
    var head: RequestHead
    var body: [UInt8] = []
    var expectedBytes: Int
    /// Whether the connection must end with the response.
    var closes: Bool
    /// The response, if it came while the delegate was being asked.
    var response: HTTPResponse?
}

/// One row of the connection table.
struct Connection {
    /// The library's connection; nil in a free row.
    var wsi: OpaquePointer?
    /// 0 in a free row.
    var generation: UInt32 = 0
    /// Of the current exchange, 0 if there is none.
    var serial: UInt32 = 0
    var phase = ConnectionPhase.http
    var listener: UInt8 = 0
    var isTLS = false
    /// Whether the delegate was told `opened`, and so awaits `closed`.
    var wasOpened = false
    /// Whether the delegate is being asked about the current exchange right now.
    var isDelivering = false
    /// Whether the peer watch has this socket, and its low-water mark is up.
    var isWatched = false
    /// Whether the connection must not serve another request.
    var isLastRequest = false
    /// Whether nobody has vouched for it yet, so that it may have to make room for another.
    var isNewcomer = false
    /// When it was first found to have said something while nobody had vouched for it.
    var spokeAt = UInt64.max
    /// Whether it had to make room, and is not quite gone.
    var isLeaving = false
    /// Whether its peer is a proxy that says in `X-Forwarded-For` for whom it asks.
    var isProxy = false
    /// Ours or the peer's; 0 for none.
    var closeCode: UInt16 = 0
    var peer = PeerAddress()
    var queue = FrameQueue()
    /// What this turn has for the peer, in the server's outbox: the first frame, each points to the next; -1 for none.
    var firstOut = Int32(-1)
    /// The last of them, where there is a first.
    var lastOut = Int32(-1)
    /// Of those, in bytes.
    var outBytes: Int32 = 0
    /// The message that is being assembled; once closing, the close frame's reason.
    var partial: [UInt8] = []
    var exchange: Exchange?
}

/// All connections, by slot; a slot's generation tells its tenants apart.
struct ConnectionTable {
    /// Which of several loops this is the table of.
    private let loop: Int
    private(set) var rows: ContiguousArray<Connection> = []
    private var free: [Int] = []
    private var lastGeneration: UInt32 = 0
    private(set) var count = 0

    init(loop: Int) { self.loop = loop }

    mutating func insert(peer: PeerAddress, listener: Int, isTLS: Bool) -> ConnectionID {
        lastGeneration = lastGeneration == .max ? 1 : lastGeneration + 1
        var row = Connection()
        row.generation = lastGeneration
        row.peer = peer
        row.listener = UInt8(truncatingIfNeeded: listener)
        row.isTLS = isTLS
        count += 1
        guard let slot = free.popLast() else {
            rows.append(row)
            return ConnectionID(slot: rows.count - 1, generation: lastGeneration, loop: loop)
        }
        rows[slot] = row
        return ConnectionID(slot: slot, generation: lastGeneration, loop: loop)
    }

    /// The slot of a connection that still exists.
    @inline(__always)
    func slot(of id: ConnectionID) -> Int? {
        let slot = id.slot
        guard id.loop == loop, slot < rows.count, rows[slot].generation == id.generation else { return nil }
        return slot
    }

    /// The slot whose current exchange this is.
    func slot(of exchange: ExchangeID) -> Int? {
        let slot = exchange.slot
        guard exchange.loop == loop, slot < rows.count, exchange.serial != 0, rows[slot].serial == exchange.serial
        else { return nil }
        return slot
    }

    func id(of slot: Int) -> ConnectionID {
        ConnectionID(slot: slot, generation: rows[slot].generation, loop: loop)
    }

    /// The exchange that is going on in a slot.
    func exchange(of slot: Int) -> ExchangeID { ExchangeID(slot: slot, serial: rows[slot].serial, loop: loop) }

    mutating func remove(_ slot: Int) {
        rows[slot] = Connection()
        free.append(slot)
        count -= 1
    }

    @inline(__always)
    subscript(slot: Int) -> Connection {
        _read { yield rows[slot] }
        _modify { yield &rows[slot] }
    }
}
