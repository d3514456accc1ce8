internal import CLibwebsockets
import CallPorts
internal import CallWire

/// The phase of a connection.
enum ConnectionPhase: UInt8 {
    /// HTTP: the connection is being made, is between two requests, or is sending a response.
    case http
    /// A request's body is arriving. → `pending`
    case body
    /// A body in chunks is complete and is about to be handed to the delegate. → `pending`
    case complete
    /// A request was handed to the delegate and has no response yet. → `http`
    case pending
    /// The rest of a refused request is read and discarded until the peer or a deadline ends the connection.
    case lingering
    /// An upgrade was admitted; the 101 response is being sent. → `open`
    case admitted
    /// An upgrade was accepted only to be closed with a reason as soon as the handshake is complete. → `closing`
    case admittedToClose
    /// The WebSocket connection is open.
    case open
    /// A close was requested: the queue is flushed, then the close frame goes out. → `closed`
    case closing
    /// The library is closing the connection, or has closed it.
    case closed
}

/// One outgoing frame that has not been written yet.
struct WaitingFrame {
    /// The headroom of a `Frame`, then the message; emptied when the frame is written.
    var bytes: [UInt8]
    var isPing: Bool

    init(_ frame: Frame, isPing: Bool) {
        bytes = frame.bytes
        self.isPing = isPing
    }

    /// The length of the message.
    var messageBytes: Int { bytes.count - Frame.headroom }
}

/// The frames that wait for one slow reader, first in, first out; an empty queue owns no memory.
struct FrameQueue {
    private var frames: [WaitingFrame] = []
    private var head = 0
    private(set) var bytes = 0

    var isEmpty: Bool { head == frames.count }
    var first: WaitingFrame? { head < frames.count ? frames[head] : nil }

    mutating func append(_ frame: WaitingFrame) {
        frames.append(frame)
        bytes += frame.messageBytes
    }

    mutating func popFirst() -> WaitingFrame? {
        guard head < frames.count else { return nil }
        let frame = frames[head]
        frames[head].bytes = []
        head += 1
        bytes -= frame.messageBytes
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

/// A request that is being read or waits for its response.
///
/// It is an object, so that a connection without a request, such as a WebSocket, needs no memory for one.
final class Exchange {
    let head: RequestHead
    var body: [UInt8] = []
    var expectedBytes = 0
    /// The decoder of a body in chunks, with the most bytes that its content may have; `nil` for any other body.
    var chunks: (body: ChunkedBody, limit: Int)?
    /// Whether the connection must end after the response.
    var closes: Bool
    /// Whether nothing more is read from the peer until the response.
    var isHeldBack = false
    /// The response, if the delegate gave it within ``ServerDelegate/requested(_:body:as:)``.
    var response: Response?

    init(_ head: RequestHead, closes: Bool) {
        self.head = head
        self.closes = closes
    }
}

/// One row of the connection table.
struct Connection {
    /// The library's connection; nil in a free row.
    var wsi: OpaquePointer?
    /// 0 in a free row.
    var generation: UInt32 = 0
    /// The serial number of the current request; 0 if there is none.
    var serial: UInt32 = 0
    var phase = ConnectionPhase.http
    var listener: UInt8 = 0
    var isTLS = false
    /// Whether ``ServerDelegate/opened(_:)`` was called and ``ServerDelegate/closed(_:code:)`` was not.
    var wasOpened = false
    /// Whether ``ServerDelegate/requested(_:body:as:)`` is being called for the current request.
    var isDelivering = false
    /// Whether the peer watch contains this socket.
    ///
    /// Meanwhile the socket's low-water mark is raised.
    var isWatched = false
    /// Whether the connection must not serve a further request.
    var isLastRequest = false
    /// Whether the connection is not authenticated yet, so that it may be dropped to make room for another.
    var isUnauthenticated = false
    /// The event loop's time, in milliseconds, at which the server noticed that the unauthenticated connection had sent
    /// bytes; `UInt64.max` before that.
    var firstBytesAt = UInt64.max
    /// Whether the connection was dropped to make room and is not completely closed yet.
    var isBeingDropped = false
    /// Whether the peer is a trusted proxy, which names its client in `X-Forwarded-For`.
    var isProxy = false
    /// The close code of the server or the peer; 0 if there is none.
    var closeCode: UInt16 = 0
    var peer = PeerAddress()
    var queue = FrameQueue()
    /// The index in the server's outbox of this turn's first frame for the peer; -1 if there is none.
    ///
    /// The frames for one peer form a linked list: each entry of the outbox has the index of the next one.
    var firstOut = Int32(-1)
    /// The index of the last of these frames; valid only if there is a first one.
    var lastOut = Int32(-1)
    /// The payload bytes of these frames.
    var outBytes: Int32 = 0
    /// The fragments of the message that is being received; in the closing phases, the reason in the close frame.
    var partial: [UInt8] = []
    var exchange: Exchange?
    /// The filter of the connection's requests; `nil` as soon as it is a WebSocket.
    var filtered: FilteredConnection?
}

/// All connections, by slot; a slot's generation distinguishes the connections that used it one after another.
struct ConnectionTable {
    /// The number of the event loop whose connections these are.
    private let loop: Int
    private(set) var rows: ContiguousArray<Connection> = []
    private var free: [Int] = []
    /// It begins at random, so that a later run of the server does not give the same ids again.
    private var lastGeneration = UInt32.random(in: 0...UInt32.max)
    private(set) var count = 0

    init(loop: Int) { self.loop = loop }

    mutating func insert(peer: PeerAddress, listener: Int, isTLS: Bool) -> SocketID {
        lastGeneration = lastGeneration == .max ? 1 : lastGeneration + 1
        var row = Connection()
        row.generation = lastGeneration
        row.peer = peer
        row.listener = UInt8(truncatingIfNeeded: listener)
        row.isTLS = isTLS
        count += 1
        guard let slot = free.popLast() else {
            rows.append(row)
            return SocketID(slot: rows.count - 1, generation: lastGeneration, loop: loop)
        }
        rows[slot] = row
        return SocketID(slot: slot, generation: lastGeneration, loop: loop)
    }

    /// Returns the slot of a connection; nil if the connection no longer exists.
    @inline(__always)
    func slot(of id: SocketID) -> Int? {
        let slot = id.slot
        guard id.loop == loop, slot < rows.count, rows[slot].generation == id.generation else { return nil }
        return slot
    }

    /// Returns the slot whose current request this is; nil if it is over.
    func slot(of request: RequestID) -> Int? {
        let slot = request.slot
        guard request.loop == loop, slot < rows.count, request.serial != 0, rows[slot].serial == request.serial
        else { return nil }
        return slot
    }

    func id(of slot: Int) -> SocketID {
        SocketID(slot: slot, generation: rows[slot].generation, loop: loop)
    }

    /// Returns the id of a slot's current request.
    func requestID(of slot: Int) -> RequestID { RequestID(slot: slot, serial: rows[slot].serial, loop: loop) }

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
