import CallCore
import CallPorts
import Gateway
import Glibc
import LibWebSockets
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
        let server = try MemoryServer(settings, names: DemoPages.names, clock, log)
        let coturn = try settings.turn.map { turn throws(UsageError) in
            try CoturnCredentials(turn, clock) { log.warning(about: OperatorText($0)) }
        }
        let pushes = DemoPushes()
        let silence = DemoSilence()
        let pages = DemoPages(
            files,
            tokens: server.issuer,
            pushes: pushes,
            silence: silence,
            calls: server.calls,
            hasTURN: settings.turn != nil
        )
        let gateway = try server.open(configuration(pages, silence, log), pushes: pushes, turnCredentials: coturn)
        print(host.announcement(port: gateway.port))
        fflush(nil)
        let tick: SignalWatch.Action = { [clock, weak gateway] in
            for event in clock.takeEvents() { gateway?.clockReported(event) }
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
        configuration.admin = settings.admin.map { ($0.host, $0.port) }
        configuration.adminHosts = settings.adminHosts
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
