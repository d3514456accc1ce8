import LibWebSockets
import Threads

/// Answers the operators' requests while the server waits for its database: the process lives, and is not ready.
///
/// Otherwise a supervisor that asks for `/healthz` would kill a server that starts while the database is away.
///
/// @unchecked: all properties are constant, and the server allows ``Server/stop()`` from any thread.
final class StartingListener: ServerDelegate, @unchecked Sendable {
    private let server: Server
    private let version: String
    private let begun = ContinuousClock.now
    private var thread: WorkThread?

    /// A start takes less time than this if the database can be reached.
    private static let ordinaryStart = Duration.seconds(1)

    /// Listens at the operators' address, and answers on a thread of its own.
    init(host: String, port: Int, version: String) throws(ServerError) {
        var configuration = ServerConfiguration()
        configuration.host = host
        configuration.port = port
        configuration.webSocketPaths = []
        configuration.maxConnections = 16
        server = try Server(configuration: configuration)
        self.version = version
        server.delegate = self
        do throws(WorkThread.Refused) {
            thread = try WorkThread(named: "starting") { [server] in server.run() }
        } catch { throw .threads("the system cannot start a thread: raise the limit on threads") }
    }

    /// Ends, so that the port is free again.
    func end() {
        server.stop()
        thread?.join()
    }

    // MARK: ServerDelegate

    func requested(_ head: RequestHead, body: [UInt8], exchange: ExchangeID) {
        server.respond(exchange, with: response(to: head))
    }

    private func response(to head: RequestHead) -> HTTPResponse {
        guard Gateway.mayAdminister(head) else { return Gateway.noSuchAdminMethod }
        let isLate = ContinuousClock.now - begun > Self.ordinaryStart
        switch head.path {
        case "/healthz": return Gateway.health(nil, version: version)
        case "/readyz", "/metrics":
            return Gateway.health(isLate ? "store unavailable" : "starting", version: version)
        default: return Gateway.noSuchAdminPath
        }
    }

    func admit(_ upgrade: RequestHead, as socket: SocketID) -> UpgradeDecision { .refuse(Gateway.noSuchAdminPath) }
    func opened(_ socket: SocketID) {}
    func received(_ message: RawSpan, on socket: SocketID) {}
    func receivedPong(_ payload: RawSpan, on socket: SocketID) {}
    func closed(_ socket: SocketID, code: UInt16?) {}
    func abandoned(_ exchange: ExchangeID) {}
    func timerFired() {}
    func loopTurned() {}
}
