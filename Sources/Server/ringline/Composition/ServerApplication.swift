import CallPorts
import Crypto
import Diagnostics
import FoundationEssentials
import Gateway
import Glibc
import Identity
import LibWebSockets
import Pushes
import SQLiteStore
import ServerLog
import Switchboard
import Threads

/// Assembles the server from its parts and runs it.
struct ServerApplication {
    let settings: ServeSettings
    /// Reads the settings again.
    private let reread: @Sendable () throws(UsageError) -> ServeSettings
    let clock = ServerClock()
    let beganAt = ContinuousClock.now

    /// Creates a server with these settings; `reread` returns the settings for a reload of the keys.
    init(_ settings: ServeSettings, reread: (@Sendable () throws(UsageError) -> ServeSettings)? = nil) {
        self.settings = settings
        self.reread = reread ?? { () throws(UsageError) in settings }
    }

    /// Serves until SIGTERM or SIGINT.
    func run() throws(UsageError) {
        FatalSignals.installHandlers()
        // The signals are blocked before any thread is started. All threads inherit the signal mask, so only the watch
        // receives the signals.
        let watch = SignalWatch(alsoWatching: [SIGHUP, SIGUSR1, SIGUSR2])
        let threshold = LogThreshold(settings.logLevel)
        let writer = Log.writer(asJSON: settings.logsJSON)
        let log = Log.make(threshold, asJSON: settings.logsJSON, to: writer)
        // The error that `run` throws is printed after `run` has returned. First the log lines that led to the error
        // must be written; the wait is 1 s at most, in case nothing reads stderr.
        defer { LogWriter.waitUntilWritten(limitMilliseconds: 1_000) }
        let startWatch = StartWatch(log)
        defer { startWatch.end() }
        if !settings.isInMemory { try DataFolderSetup.prepare(settings.data) }
        try StartCheck.require(settings)
        let parts = try ServerParts(settings, clock, log)
        let clients = Monitor(OutboundClients())
        var configuration = try configuration(parts, clients, writer, log)
        // The fetch of the issuer's keys begins before the store is opened. Opening takes time, so the keys have
        // usually arrived when the server listens.
        parts.keySetFetcher?.tick()
        defer { parts.keySetFetcher?.shutdown() }
        configuration.policy.applicationServerKey = try webPushConfiguration(makesKey: true)?.applicationServerKey
        let gateway = Gateway(configuration: configuration, authenticator: parts.keys.authenticator, log: log)
        let push = try PushServices(self, log) { [weak gateway] id, result in gateway?.pushFinished(id, result) }
        let backend = BackendClients(
            events: try eventSender(log) { [weak gateway] id, result in gateway?.deliveryFinished(id, result) },
            decider: try decider(log) { [weak gateway] id, result in gateway?.decisionMade(id, result) }
        )
        clients.withLock { $0 = OutboundClients(push: push, backend: backend) }
        var folderLock: DataFolderLock?
        defer { withExtendedLifetime(folderLock) {} }
        do {
            if settings.store != nil {
                folderLock = try DataFolderLock(folder: settings.data, lockWait: lockWait(log))
            }
            try open(gateway, Senders(push: push, events: backend.events, decider: backend.decider), parts, log)
        } catch let failure as StoreFailure {
            guard !SignalWatch.hasPending else {
                log.notice("stopped")
                return
            }
            throw UsageError(failure.message)
        } catch { throw refusal(of: error) }
        warn(parts.warnings, log)
        // The log lines so far are written before the line `listening on …`, so that a script that waits for that line
        // finds them.
        LogWriter.waitUntilWritten(limitMilliseconds: 1_000)
        announce(gateway, log)
        parts.audit.write("started", [("version", .text(Version.text))])
        // Deferred blocks run in reverse order, so `audit.end()` runs before the deferred `waitUntilWritten` above,
        // which then waits for the audit lines too.
        defer { parts.audit.end() }
        let upkeep = Upkeep(parts, keyRenewal(parts, push, backend, log), commandFolder, clock, gateway, log)
        // Carries out the commands that were left while no server ran, before any client is served.
        upkeep.scanCommands()
        try serve(gateway, clients.withLock { $0 }, upkeep, endingStart: startWatch, watch, threshold)
    }

    /// Runs the loops of a gateway that is open until SIGTERM or SIGINT, and then ends the clients of other services.
    private func serve(
        _ gateway: Gateway,
        _ clients: OutboundClients,
        _ upkeep: Upkeep,
        endingStart startWatch: StartWatch,
        _ watch: SignalWatch,
        _ threshold: LogThreshold
    ) throws(UsageError) {
        let log = upkeep.log
        let loopWatch = LoopWatch(
            gateway.loopPosts,
            clients: clients.loopPosts
                + (upkeep.parts.keySetFetcher.map { fetcher in [{ fetcher.onLoop($0) }] } ?? []),
            ServiceManager(ProcessInfo.processInfo.environment),
            log
        )
        loopWatch.serves()
        startWatch.end()
        watch.start(
            on: Self.actions({ upkeep.reload() }, threshold, log),
            everySecond: { upkeep.tick() },
            watching: { loopWatch.tick() }
        ) { [weak gateway] in
            loopWatch.stops()
            gateway?.drain()
        }
        gateway.run()
        loopWatch.gatewayEnded()
        clients.shutdown(limitMilliseconds: 2_000)
        if let failure = gateway.storeFailure { throw UsageError(failure.message) }
        if gateway.needsNewRun, !SignalWatch.hasPending { try beginAnew(upkeep.parts.audit, log) }
        log.writeSums(isLast: true)
        log.notice("stopped")
    }

    /// Replaces this process by a new run of the same command, because another node has taken over the calls.
    ///
    /// Everything of the earlier run is gone then, and nothing of it can be mistaken for the present.
    private func beginAnew(_ audit: AuditLog, _ log: ServerLog) throws(UsageError) {
        log.notice("the process begins anew as a node that follows the owner of the calls")
        audit.end()
        LogWriter.waitUntilWritten(limitMilliseconds: 1_000)
        // Without /proc, descriptors that were opened without close-on-exec stay open, which does no harm.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            guard let descriptor = Int32(name), descriptor > 2 else { continue }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        throw UsageError("another node has taken over the calls, and this process cannot begin anew; start it again")
    }

    /// The actions of the signals that do not end the process.
    private static func actions(
        _ reload: @escaping @Sendable () -> Void,
        _ threshold: LogThreshold,
        _ log: ServerLog
    ) -> [Int32: SignalWatch.Action] {
        let move = { @Sendable (steps: Int) in
            let level = threshold.move(by: steps)
            // The line is logged at the new level itself, so that it appears whatever that level is.
            log.log(level: level, "the log level was changed", [.level(level)])
        }
        return [
            SIGUSR1: { move(-1) }, SIGUSR2: { move(1) }, SIGHUP: reload,
        ]
    }

    /// Returns the gateway's configuration: the settings, and where its figures and its audit lines come from and go.
    private func configuration(
        _ parts: ServerParts,
        _ clients: Monitor<OutboundClients>,
        _ writer: LogWriter,
        _ log: ServerLog
    ) throws(UsageError) -> GatewayConfiguration {
        var configuration = configuration(log)
        let (audit, renewal, keySetFetcher) = (parts.audit, parts.renewal, parts.keySetFetcher)
        configuration.certificateExpiry = { renewal?.expiry }
        configuration.logLines = { LineFigures(dropped: writer.dropped, suppressed: log.suppressed) }
        configuration.keySet = { keySetFetcher.map { ($0.figures.ageSeconds, $0.figures.failures, $0.figures.keys) } }
        configuration.outbound = { OutboundFigures.all(clients.withLock { $0 }, keySetFetcher) }
        configuration.operatorPage = try CallsPage(settings, audit: audit, log)
        configuration.audit = { audit.record($0) }
        configuration.auditLines = { LineFigures(dropped: audit.dropped, suppressed: audit.suppressed) }
        configuration.refusedTokens = { audit.refused }
        return configuration
    }

    private func configuration(_ log: ServerLog) -> GatewayConfiguration {
        var configuration = GatewayConfiguration()
        configuration.server.host = settings.listen.host
        configuration.server.port = settings.listen.port
        configuration.server.tls = settings.tls
        configuration.server.webSocketPaths += Gateway.socketIOPaths
        configuration.trustsUnverifiedSocketIOUsers = settings.trustsUnverifiedSocketIOUsers
        configuration.server.subprotocols = ["ringline.v1"]
        configuration.server.maxConnections = settings.maxConnections
        configuration.server.trustedProxies = settings.trustedProxies
        configuration.server.loops = settings.loops
        configuration.server.keepAliveSeconds = settings.keepAliveSeconds
        // A long poll waits for 30 s at most.
        configuration.server.responseTimeoutSeconds = 45
        configuration.server.log = log.library
        configuration.admin = settings.admin.map { ($0.host, $0.port) }
        configuration.mayWaitForStore = settings.store != nil
        configuration.adminHosts = settings.adminHosts
        configuration.allowedOrigins = settings.allowedOrigins
        configuration.policy = settings.policy
        configuration.version = Version.text
        configuration.clock = clock
        return configuration
    }

    private func keyRenewal(
        _ parts: ServerParts,
        _ push: PushServices,
        _ backend: BackendClients,
        _ log: ServerLog
    ) -> KeyRenewal {
        KeyRenewal(
            settings: reread,
            tokens: parts.keys.tokens,
            capabilityKeys: parts.keys.capabilityKeys,
            coturn: parts.coturn,
            push: push,
            backend: backend,
            clock: clock,
            audit: parts.audit,
            log: log
        )
    }

    /// The folder in which other commands leave work for this server.
    private var commandFolder: CommandFolder? { settings.isInMemory ? nil : CommandFolder(folder: settings.data) }

    /// Logs what the operator should know of this start, once everything else has succeeded.
    private func warn(_ warnings: [String], _ log: ServerLog) {
        let descriptors = Rating.descriptors(wanted: settings.maxConnections)
        let further = descriptors.grade == .error ? [descriptors.text] : []
        for warning in warnings + further { log.warning(about: OperatorText(warning)) }
        if settings.store == nil, !settings.isInMemory, let note = DatabaseNote(in: settings.data) {
            log.warning(
                "the calls were in a PostgreSQL database, and this start goes on with the older ones in the data folder",
                [.data(OperatorText(settings.data))]
            )
            note.remove()
        }
        if settings.apns == nil {
            log.warning(
                PushSetup.all.allSatisfy { !$0.isConfigured(settings) }
                    ? "no APNs key is configured: pushes are only logged, and sleeping devices do not ring"
                    : "no APNs key is configured: pushes to Apple devices are only logged"
            )
        }
        if settings.trustsUnverifiedSocketIOUsers {
            log.warning(
                """
                --socketio-trust-register: ANYBODY who reaches this server is whoever they say they are, takes that user's \
                calls and rings anyone in their name. Only for old builds behind a private network
                """
            )
        }
    }

    /// Checks that a file of certificate authorities is usable.
    ///
    /// With an unusable file no request would ever succeed, and the operator would see that only at the first request.
    static func checkAuthorities(_ path: String, for setting: String) throws(UsageError) {
        let pem: [UInt8]
        do throws(SecretFileError) { pem = try NamedFile.read(path) } catch {
            throw UsageError("--\(setting)", path, error)
        }
        do throws(KeyError) { _ = try Certificate(pem: String(decoding: pem, as: UTF8.self)) } catch {
            throw UsageError("--\(setting) \(path): \(error)")
        }
    }

    /// Prints to stdout where the server listens, one line per listener.
    ///
    /// A script that starts the server on port 0 learns the real port from these lines.
    private func announce(_ gateway: Gateway, _ log: ServerLog) {
        let scheme = settings.tls == nil ? "http" : "https"
        let isJSON = settings.logsJSON
        Log.announce("listening on \(scheme)://\(Self.shown(settings.listen.host)):\(gateway.port)", asJSON: isJSON)
        if let admin = settings.admin, let port = gateway.adminPort {
            Log.announce("admin on http://\(Self.shown(admin.host)):\(port)", asJSON: isJSON)
        }
        fflush(nil)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        log.notice(
            "started",
            [
                .version(ServerText(Version.text)), .data(OperatorText(settings.data)),
                .descriptors(UInt64(limit.rlim_cur)),
            ]
        )
    }

    private static func shown(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}
