import CallCore
import CallPorts
import Crypto
import Gateway
import Glibc
import Identity
import LibWebSockets
import MemoryStore
import ServerLog
import Switchboard
import Threads

/// The server of `ringline demo`: the same decisions as those of `serve`, kept in memory, with a page of two phones.
struct DemoServer {
    private let settings: ServeSettings
    private let host: DemoHost
    private let files: PageFiles
    private let clock = ServerClock()

    init(_ settings: ServeSettings, _ host: DemoHost, files: PageFiles) {
        self.settings = settings
        self.host = host
        self.files = files
    }

    /// Serves until SIGTERM or SIGINT.
    func run() throws(UsageError) {
        FatalSignals.installHandlers()
        let watch = SignalWatch()
        let log = Log.make(LogThreshold(settings.logLevel), asJSON: false, to: Log.writer(asJSON: false))
        defer { LogWriter.waitUntilWritten(limitMilliseconds: 1_000) }
        let secret = SecureRandom.bytes(32)
        let capabilityKeys = try CapabilityKeys(settings, at: clock.now())
        let authenticator = JWTAuthenticator(
            tokens: try TokenKeys(secret: secret),
            capabilityKeys: capabilityKeys,
            audit: try AuditLog(nil),
            log: log
        )
        let coturn = try settings.turn.map { turn throws(UsageError) in
            try CoturnCredentials(turn, clock) { log.warning(about: OperatorText($0)) }
        }
        let pushes = DemoPushes()
        let issuer = TokenIssuer(secret: secret)
        let silence = DemoSilence()
        let memory = Memory()
        let pages = DemoPages(
            files,
            tokens: issuer,
            pushes: pushes,
            silence: silence,
            calls: DemoCalls(memory, names: DemoPages.names),
            hasTURN: settings.turn != nil
        )
        let configuration = configuration(pages, silence, log)
        let gateway = Gateway(configuration: configuration, authenticator: authenticator, log: log)
        do {
            try gateway.open(
                store: MemoryCallStore(memory) { [weak gateway] report in gateway?.take(report) },
                push: DemoPushSender(to: pushes) { [weak gateway] id, result in gateway?.take(id, result) },
                capabilities: RingCapabilities(keys: capabilityKeys),
                turnCredentials: coturn
            )
        } catch { throw UsageError("\(error)") }
        print(host.announcement(port: gateway.port))
        fflush(nil)
        let tick: SignalWatch.Action = { [clock, weak gateway] in
            for event in clock.takeEvents() { gateway?.take(event) }
        }
        watch.start(everySecond: tick) { [weak gateway] in gateway?.drain() }
        gateway.run()
    }

    private func configuration(_ pages: DemoPages, _ silence: DemoSilence, _ log: ServerLog) -> GatewayConfiguration {
        var configuration = GatewayConfiguration()
        configuration.server.host = host.listen.host
        configuration.server.port = host.listen.port
        configuration.server.webSocketPaths += Gateway.socketIOPaths
        configuration.server.subprotocols = ["ringline.v1"]
        configuration.server.responseTimeoutSeconds = 45
        configuration.server.log = log.library
        configuration.policy = settings.policy
        // Whoever tries things out rings often.
        configuration.policy.ringsPerPair = 0
        configuration.policy.ringsPerCallee = 0
        // A token ends at the second that it names, so that its end can be watched.
        configuration.policy.tokenLeeway = .seconds(0)
        configuration.version = Version.text
        configuration.clock = clock
        configuration.page = { pages.response(to: $0) }
        configuration.isSilent = { silence.includes($0) }
        return configuration
    }
}
