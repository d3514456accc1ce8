import CallPorts
import CallWire
import Foundation
import LibWebSockets
import ServerTesting
import Threads

/// A call of one of the delegate's functions, as text.
typealias Event = String

/// A server on a thread of its own, with a delegate that consists of closures.
///
/// @unchecked Sendable: the closures are set before the server starts and run on its event loop's thread only. The
/// record has a lock.
final class TestServer: ServerDelegate, @unchecked Sendable {
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    // This property is set at the end of `init`, because the server needs `self` as its delegate.
    private(set) var server: Server!
    var onAdmit: ((Server, RequestHead, SocketID) -> UpgradeDecision)?
    var onOpen: ((Server, SocketID) -> Void)?
    var onMessage: ((Server, String, SocketID) -> Void)?
    var onPong: ((Server, SocketID) -> Void)?
    var onClose: ((Server, SocketID) -> Void)?
    var onRequest: ((Server, RequestHead, [UInt8], RequestID) -> Void)?
    var onTimer: ((Server) -> Void)?
    var onTurn: ((Server) -> Void)?

    private struct Record {
        var events: [Event] = []
        var sockets: [SocketID] = []
        var exchanges: [RequestID] = []
        var heads: [RequestHead] = []
        var isDone = false
    }
    private let record = Monitor(Record())

    init(_ configure: (inout ServerConfiguration) -> Void = { _ in }, _ set: (TestServer) -> Void = { _ in }) throws {
        var configuration = ServerConfiguration()
        configuration.host = "127.0.0.1"
        configuration.subprotocols = ["ringline.v1"]
        configure(&configuration)
        set(self)
        server = try Server(configuration: configuration, delegate: self)
    }

    /// Creates a further event loop on the port of the first server, which must be configured for several loops.
    init(beside first: TestServer, loop: Int, _ set: (TestServer) -> Void = { _ in }) throws {
        set(self)
        server = try Server(beside: first.server, loop: loop, delegate: self)
    }

    var port: Int { server.port }

    /// Runs a server while `body` runs.
    static func run<Result>(
        _ configure: (inout ServerConfiguration) -> Void = { _ in },
        _ set: (TestServer) -> Void = { _ in },
        _ body: (TestServer) throws -> Result
    ) throws -> Result {
        let test = try TestServer(configure, set)
        test.start()
        defer { test.stopAndWait() }
        return try body(test)
    }

    func start() {
        Thread { [self] in
            server.run()
            record.withLock { $0.isDone = true }
        }.start()
    }

    func stopAndWait() {
        server.stop()
        _ = wait { self.record.withLock { $0.isDone } }
    }

    var events: [Event] { record.withLock { $0.events } }
    var sockets: [SocketID] { record.withLock { $0.sockets } }
    var exchanges: [RequestID] { record.withLock { $0.exchanges } }
    var heads: [RequestHead] { record.withLock { $0.heads } }

    func count(_ event: Event) -> Int { events.count { $0 == event } }
    func hears(_ event: Event, times: Int = 1) -> Bool { wait { self.count(event) >= times } }

    /// Runs `body` on the event loop and returns its result; nil if there is no result in time.
    func onLoop<Result: Sendable>(_ body: @escaping @Sendable (Server) -> Result) -> Result? {
        let result = Monitor<Result?>(nil)
        server.post { [unowned self] in
            let value = body(server)
            result.withLock { $0 = value }
        }
        // The loop may have much to do for a request, on a machine that is busy.
        _ = wait(seconds: 30) { result.withLock { $0 != nil } }
        return result.withLock { $0 }
    }

    private func note(_ event: Event) { record.withLock { $0.events.append(event) } }

    // MARK: ServerDelegate

    func admit(_ upgrade: RequestHead, as socket: SocketID) -> UpgradeDecision {
        record.withLock { $0.heads.append(upgrade) }
        return onAdmit?(server, upgrade, socket) ?? .accept(subprotocol: nil)
    }

    func opened(_ socket: SocketID) {
        record.withLock { $0.sockets.append(socket) }
        note("opened")
        onOpen?(server, socket)
    }

    func messageReceived(_ message: RawSpan, on socket: SocketID) {
        let text = message.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        if let onMessage {
            onMessage(server, text, socket)
        } else {
            note(text.utf8.count > 100 ? "received \(text.utf8.count)" : "received \(text)")
        }
    }

    func receivedPong(_ payload: RawSpan, on socket: SocketID) {
        note("pong \(payload.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })")
        onPong?(server, socket)
    }

    func closed(_ socket: SocketID, code: UInt16?) {
        note("closed \(code.map(String.init) ?? "-")")
        onClose?(server, socket)
    }

    func requested(_ head: RequestHead, body: [UInt8], as request: RequestID) {
        record.withLock {
            $0.heads.append(head)
            $0.exchanges.append(request)
        }
        note("\(head.method) \(head.path) \(body.count)")
        if let onRequest {
            onRequest(server, head, body, request)
        } else {
            server.respond(request, with: Response(status: 200, contentType: "text/plain", body: Array("ok".utf8)))
        }
    }

    func abandoned(_ request: RequestID) { note("abandoned") }

    func timerFired() {
        note("timer")
        onTimer?(server)
    }

    func loopTurned() { onTurn?(server) }
}

/// A variable without a lock, for the event loop's thread.
final class OnLoop<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}
