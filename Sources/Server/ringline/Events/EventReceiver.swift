import Backend
import CallCore
import CallPorts
import Glibc
import JSON
import LibWebSockets
import Threads

/// The receiver of `ringline events listen`: it checks deliveries of events and prints them, one line each.
///
/// @unchecked: everything that changes is used on the server's thread only, and ``Server/stop()`` may be called from any.
final class EventReceiver: ServerDelegate, @unchecked Sendable {
    /// What is done with a delivery whose signature is valid.
    enum Behaviour {
        /// It gets a response with a status, after a time.
        case responds(status: Int, afterMilliseconds: UInt64)
        /// It gets no response.
        case hangs
    }

    private let server: Server
    private let secrets: WebhookSecrets
    private let behaviour: Behaviour
    private let endsAfterFirst: Bool
    /// The ids of the newest events, so that a repeated one is recognized.
    private var ids: Set<String> = []
    /// The timers of responses that are due later.
    private var timers: [RequestID: LoopTimer] = [:]
    /// Keeps SIGTERM and SIGINT until ``run()``, so that none ends the process in between.
    private let watch = SignalWatch()
    /// Whether a delivery was refused.
    private var hasRefused = false
    private var count = 0

    /// The number of ids that are remembered, at most.
    private static let rememberedIDs = 10_000

    /// Listens on this machine; port 0 = any free one.
    init(port: Int, secrets: WebhookSecrets, behaviour: Behaviour, endsAfterFirst: Bool) throws(UsageError) {
        var configuration = ServerConfiguration()
        configuration.host = "127.0.0.1"
        configuration.port = port
        configuration.webSocketPaths = []
        configuration.maxConnections = 256
        configuration.maxBodyBytes = 1 << 20
        configuration.furtherHeaders = [
            WebhookSignature.Header.id, WebhookSignature.Header.timestamp, WebhookSignature.Header.signature,
        ]
        do throws(ServerError) { server = try Server(configuration: configuration) } catch {
            guard case .portTaken = error else { throw UsageError("--port: \(error)") }
            throw UsageError("--port \(port): another process listens there")
        }
        self.secrets = secrets
        self.behaviour = behaviour
        self.endsAfterFirst = endsAfterFirst
        server.delegate = self
    }

    /// The port.
    var port: Int { server.port }

    /// Receives until SIGTERM or SIGINT; throws if it was to receive one delivery, and that one is not valid.
    func run() throws(UsageError) {
        watch.start { [server] in server.stop() }
        server.run()
        timers = [:]
        if endsAfterFirst, count > 0, hasRefused { throw UsageError("the delivery is not valid") }
    }

    // MARK: Deliveries

    func requested(_ head: RequestHead, body: [UInt8], as request: RequestID) {
        guard head.method == "POST" else {
            let problem = Response.problem(405, code: "method_not_allowed", message: "events are posted")
            return server.respond(request, with: problem)
        }
        count += 1
        let id = head.furtherHeader(WebhookSignature.Header.id)
        do throws(WebhookSignature.Refusal) {
            try WebhookSignature.verify(
                id: id,
                timestamp: head.furtherHeader(WebhookSignature.Header.timestamp),
                signatures: head.furtherHeader(WebhookSignature.Header.signature),
                body: body,
                secrets,
                at: SystemClock.wall() / 1_000
            )
            accept(Delivered(body), id: id ?? "", as: request)
        } catch {
            hasRefused = true
            show("401 refused: \(error)")
            server.respond(request, with: .problem(401, code: "unauthorized", message: "\(error)"))
            if endsAfterFirst { end() }
        }
    }

    private func accept(_ event: Delivered, id: String, as request: RequestID) {
        let isRepeated = !ids.insert(id).inserted
        if ids.count > Self.rememberedIDs { ids = [id] }
        let text = "\(event.type) \(id)\(isRepeated ? " (again)" : "") \(event.data)"
        switch behaviour {
        case .hangs: show("--- \(text)")
        case .responds(let status, let milliseconds):
            show("\(status) \(text)")
            guard milliseconds > 0 else { return respond(request, status) }
            let timer = LoopTimer(on: server) { [self] in
                timers[request] = nil
                respond(request, status)
            }
            timer.set(afterMilliseconds: milliseconds)
            timers[request] = timer
        }
    }

    private func respond(_ request: RequestID, _ status: Int) {
        server.respond(request, with: Response(status: status))
        if endsAfterFirst { end() }
    }

    /// Ends after the turn of the loop, when the response has been written.
    private func end() { server.post { [server] in server.stop() } }

    private func show(_ line: String) {
        print(line.printable)
        fflush(nil)
    }

    func abandoned(_ request: RequestID) { timers[request] = nil }

    // MARK: Everything else

    func admit(_ upgrade: RequestHead, as socket: SocketID) -> UpgradeDecision {
        .refuse(.problem(404, code: "not_found", message: "this path is not a WebSocket"))
    }

    func opened(_ socket: SocketID) {}
    func messageReceived(_ message: RawSpan, on socket: SocketID) {}
    func receivedPong(_ payload: RawSpan, on socket: SocketID) {}
    func closed(_ socket: SocketID, code: UInt16?) {}
}

/// The members of a delivered event that are shown.
private struct Delivered {
    let type: String
    let data: String

    /// Reads a body; one that is no event is shown as it is.
    init(_ body: [UInt8]) {
        let whole = String(decoding: body, as: UTF8.self)
        // The signature is valid, so the sender meant this body.
        guard let object = try? JSONObject(body, names: .none),
            let type = object.text("type"), let data = object.member(named: "data")
        else {
            self.type = "(no event)"
            self.data = whole
            return
        }
        self.type = type
        self.data = String(decoding: body[data.value], as: UTF8.self)
    }
}
