import CallCore
import LibWebSockets
import Synchronization
import Threads

/// A loop besides the owner's: its sockets with their TLS and framing, and the admission of its clients.
///
/// Calls and sessions belong to the owner's loop. Events of this loop go to the owner in one batch per turn, and the
/// owner's orders come back in one batch per turn of its own. So the order is kept for each connection, and a busy loop
/// wakes the other once for many events.
///
/// @unchecked: everything is confined to this loop's thread, except the methods that the owner calls, which are marked.
final class FurtherLoop: ServerDelegate, @unchecked Sendable {
    /// Passes a batch of events to the owner's thread.
    typealias Delivery = @Sendable (_ news: [LoopNews], _ loop: Int, _ taken: @escaping @Sendable () -> Void) -> Void

    private enum Admitted {
        case session(Admission)
        case engine(EngineKnock)
    }

    private let door: Doorkeeper
    private let board: EngineBoard
    private let deliver: Delivery
    private var server: Server?
    private var admitted: [ConnectionID: Admitted] = [:]
    private var news: [LoopNews] = []
    private var newsBytes = 0
    private let valve = Valve(limit: LoopLimits.news)
    /// The bytes of orders that were passed to this loop and not carried out yet.
    private let ordered = Atomic<Int>(0)
    private let drops = Atomic<UInt64>(0)

    init(door: Doorkeeper, board: EngineBoard, deliver: @escaping Delivery) {
        self.door = door
        self.board = board
        self.deliver = deliver
    }

    // MARK: The owner's

    /// Creates the socket; before the loop runs.
    func listen(beside first: Server, loop: Int) throws(ServerError) {
        server = try Server(beside: first, loop: loop, delegate: self)
    }

    /// Starts to serve on a thread of its own; returns it, or `nil` if the system provides no thread.
    func start() -> WorkThread? {
        guard let server else { return nil }
        // The error is not needed: `nil` tells the caller that there is no thread.
        return try? WorkThread(named: "loop \(server.loop)") { server.run() }
    }

    /// Stops the loop, also if it waits for the owner.
    func stop() {
        valve.openForGood()
        server?.stop()
    }

    /// The bytes of orders that it has not carried out yet.
    var orderedBytes: Int { ordered.load(ordering: .relaxed) }

    /// The number of sessions that it closed because they read too slowly.
    var queueDrops: UInt64 { drops.load(ordering: .relaxed) }

    /// Passes orders to the loop, which carries them out on its own thread.
    func carryOut(_ orders: [LoopOrder], bytes: Int) {
        ordered.wrappingAdd(bytes, ordering: .relaxed)
        server?.post { [self] in
            for order in orders { carryOut(order) }
            ordered.wrappingSubtract(bytes, ordering: .relaxed)
        }
    }

    // MARK: Its own

    private func carryOut(_ order: LoopOrder) {
        guard let server else { return }
        switch order {
        case .send(let frame, let connection):
            // A copy is sent: the library writes a header into the array's headroom, and another loop may do so in the
            // same array at the same time.
            if server.send(Self.ownCopy(of: frame), to: connection) == .overflow {
                drops.wrappingAdd(1, ordering: .relaxed)
                server.close(connection, code: 4408, reason: "too slow", discardingQueue: true)
            }
        case .ping(let connection, let number): server.ping(connection, payload: PingPayload.of(number))
        case .close(let connection, let code, let reason, let discardingQueue):
            server.close(connection, code: code, reason: reason, discardingQueue: discardingQueue)
        case .respond(let exchange, let response): server.respond(exchange, with: response)
        case .vouch(let exchange): server.vouch(for: exchange)
        case .stopListening: server.stopListening()
        case .count: tell(.counted(server.connectionCount))
        case .serve(let certificate): server.serve(certificate)
        }
    }

    private static func ownCopy(of frame: [UInt8]) -> [UInt8] {
        var copy: [UInt8] = []
        copy.reserveCapacity(frame.count)
        copy.append(contentsOf: repeatElement(0, count: Server.headroom))
        // The headroom is skipped without even reading it, because another loop may be writing to it.
        copy.append(contentsOf: frame.dropFirst(Server.headroom))
        return copy
    }

    private func tell(_ new: LoopNews, bytes: Int = 0) {
        news.append(new)
        newsBytes += bytes + LoopLimits.overhead
    }

    // MARK: ServerDelegate

    func admit(_ upgrade: RequestHead, as connection: ConnectionID) -> UpgradeDecision {
        switch door.look(at: upgrade) {
        case .decided(let decision): return decision
        case .session(let admission, let subprotocol):
            admitted[connection] = .session(admission)
            return .accept(subprotocol: subprotocol)
        case .engine(let knock):
            if let refusal = board.refusal(of: knock, by: door) { return .refuse(refusal) }
            admitted[connection] = .engine(knock)
            return .accept(subprotocol: nil)
        }
    }

    func opened(_ connection: ConnectionID) {
        switch admitted.removeValue(forKey: connection) {
        case .session(let admission)?: tell(.opened(connection, admission))
        case .engine(let knock)?: tell(.openedEngine(connection, knock))
        case nil: break
        }
    }

    func received(_ message: RawSpan, on connection: ConnectionID) {
        let bytes = message.withUnsafeBytes { Array($0) }
        tell(.received(connection, bytes), bytes: bytes.count)
    }

    func receivedPong(_ payload: RawSpan, on connection: ConnectionID) {
        tell(.ponged(connection, PingPayload.number(in: payload)))
    }

    func receivedPing(on connection: ConnectionID) { tell(.ponged(connection, nil)) }

    func closed(_ connection: ConnectionID, code: UInt16?) {
        admitted[connection] = nil
        tell(.closed(connection))
    }

    func requested(_ head: RequestHead, body: [UInt8], exchange: ExchangeID) {
        let request = door.look(at: head, body: body, now: Moment(milliseconds: door.clock.now()))
        if case .answered(let response) = request {
            server?.respond(exchange, with: response)
        } else {
            tell(.requested(exchange, request), bytes: body.count)
        }
    }

    func abandoned(_ exchange: ExchangeID) { tell(.abandoned(exchange)) }

    /// Sends all events of this turn to the owner in one batch.
    func loopTurned() {
        guard !news.isEmpty, let server else { return }
        var batch: [LoopNews] = []
        batch.reserveCapacity(news.count)
        swap(&batch, &news)
        let bytes = newsBytes
        newsBytes = 0
        valve.enter(bytes)
        deliver(batch, server.loop) { [valve] in valve.leave(bytes) }
    }
}
