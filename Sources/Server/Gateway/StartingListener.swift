import CallPorts
import LibWebSockets
import Threads

/// The reasons why a server that starts waits for its database.
package enum StartDelay: String, Sendable {
    /// The database cannot be reached, or does not respond: it may wait for its standby.
    case storeUnavailable = "store unavailable"
    /// Another server owns the database.
    case storeInUse = "store in use"
}

extension Gateway {
    /// Says in `/readyz` why the opening takes long; from any thread.
    package func startIsDelayed(by delay: StartDelay) { operators.startDelay.withLock { $0 = delay } }

    /// Opens the store, and answers operators meanwhile if that may take long.
    func answeringOperators<Opened>(while open: () throws -> Opened) throws -> Opened {
        guard configuration.mayWaitForStore else { return try open() }
        var listener: StartingListener?
        // On a port that the system chooses, nobody could ask.
        if let admin = configuration.admin, admin.port != 0 {
            listener = try StartingListener(
                host: admin.host,
                port: admin.port,
                hosts: operators.hosts,
                version: configuration.version,
                delay: operators.startDelay
            )
        }
        defer { listener?.end() }
        return try open()
    }
}

/// Answers the operators' requests while the server waits for its database: the process lives, and is not ready.
///
/// Otherwise a supervisor that asks for `/healthz` would kill a server that starts while the database is away.
///
/// @unchecked: all properties are constant, and the server allows ``Server/stop()`` from any thread.
final class StartingListener: ServerDelegate, @unchecked Sendable {
    private let server: Server
    private let hosts: AdminHosts
    private let version: String
    private let delay: Monitor<StartDelay?>
    private var thread: WorkThread?

    /// Listens at the operators' address, and answers on a thread of its own.
    init(
        host: String,
        port: Int,
        hosts: AdminHosts,
        version: String,
        delay: Monitor<StartDelay?>
    ) throws(ServerError) {
        var configuration = ServerConfiguration()
        configuration.host = host
        configuration.port = port
        configuration.webSocketPaths = []
        configuration.maxConnections = 16
        server = try Server(configuration: configuration)
        self.hosts = hosts
        self.version = version
        self.delay = delay
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

    func requested(_ head: RequestHead, body: [UInt8], as request: RequestID) {
        server.respond(request, with: response(to: head))
    }

    private func response(to head: RequestHead) -> Response {
        guard hosts.admits(head.host) else { return AdminHosts.refusal }
        guard Gateway.mayAdminister(head) else { return Gateway.noSuchAdminMethod }
        switch head.path {
        case "/healthz": return Gateway.health(nil, version: version)
        case "/readyz", "/metrics":
            return Gateway.health(delay.withLock { $0 }?.rawValue ?? "starting", version: version)
        default: return Gateway.noSuchAdminPath
        }
    }

    func admit(_ upgrade: RequestHead, as socket: SocketID) -> UpgradeDecision { .refuse(Gateway.noSuchAdminPath) }
    func opened(_ socket: SocketID) {}
    func messageReceived(_ message: RawSpan, on socket: SocketID) {}
    func receivedPong(_ payload: RawSpan, on socket: SocketID) {}
    func closed(_ socket: SocketID, code: UInt16?) {}
    func abandoned(_ request: RequestID) {}
    func timerFired() {}
    func loopTurned() {}
}
