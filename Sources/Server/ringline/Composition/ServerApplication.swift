import CallCore
import CallPorts
import Crypto
import Diagnostics
import FoundationEssentials
import Gateway
import Glibc
import Identity
import LibWebSockets
import MemoryStore
import Postgres
import PostgresStore
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
    private let beganAt = ContinuousClock.now

    /// Creates a server with these settings; `reread` returns the settings to use when keys are to be read again.
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
        let audit = try AuditLog(settings.auditLog)
        let keys = try Keys(settings, audit: audit, at: clock.now(), log)
        var warnings = settings.warnings + keys.warnings
        let coturn = try settings.turn.map { turn throws(UsageError) in
            try CoturnCredentials(turn, clock) { warnings.append($0) }
        }
        let renewal = try settings.tls.map { files throws(UsageError) in try CertificateRenewal(files, log) }
        var configuration = configuration(log)
        configuration.certificateExpiry = { renewal?.expiry }
        configuration.logLines = { LineFigures(dropped: writer.dropped, suppressed: log.suppressed) }
        let keySetFetcher = keys.tokens.keySetFetcher
        configuration.keySet = { keySetFetcher.map { ($0.figures.ageSeconds, $0.figures.failures, $0.figures.keys) } }
        let pushServices = Monitor<PushServices?>(nil)
        configuration.outbound = { OutboundFigures.all(pushServices.withLock { $0 }, keySetFetcher) }
        configuration.operatorPage = try CallsPage(settings, audit: audit, log)
        configuration.audit = { audit.record($0) }
        configuration.auditLines = { LineFigures(dropped: audit.dropped, suppressed: audit.suppressed) }
        configuration.refusedTokens = { audit.refused }
        // The fetch of the issuer's keys begins before the store is opened. Opening takes time, so the keys have
        // usually arrived when the server listens.
        keySetFetcher?.tick()
        defer { keySetFetcher?.shutdown() }
        configuration.policy.applicationServerKey = try webPushConfiguration(makesKey: true)?.applicationServerKey
        let gateway = Gateway(configuration: configuration, authenticator: keys.authenticator, log: log)
        let push = try PushServices(self, log) { [weak gateway] id, result in gateway?.take(id, result) }
        pushServices.withLock { $0 = push }
        var folderLock: DataFolderLock?
        defer { withExtendedLifetime(folderLock) {} }
        do {
            if settings.store != nil {
                folderLock = try DataFolderLock(folder: settings.data, lockWait: lockWait(log))
            }
            if let nodes = settings.nodes, let database = settings.store {
                try open(gateway, as: nodes, in: database, push, keys, coturn, log)
            } else {
                let store = try makeStore(for: gateway, log)
                try gateway.open(store: store, push: push, capabilities: keys.capabilities, turnCredentials: coturn)
            }
            // A start that has failed, with a mistake in the URL for instance, has moved no calls.
            if let url = settings.storeURL { DatabaseNote.write(url, in: settings.data) }
        } catch let failure as StoreFailure {
            guard !SignalWatch.hasPending else {
                log.notice("stopped")
                return
            }
            throw UsageError(failure.message)
        } catch ServerError.badCertificate(_, let reason) {
            throw settings.tls.map { TLSFiles(tls: $0).refusal(reason) } ?? UsageError(reason)
        } catch ServerError.unreadableFile(let path, let reason) {
            let option = path == settings.tls?.certificatePath ? "--tls-cert" : "--tls-key"
            throw UsageError("\(option): cannot read \(SecretFile.shown(path)): \(reason)")
        } catch ServerError.portTaken(let host, let port) {
            throw UsageError("\(settings.address(host, port)): another process listens there: stop it, or change this")
        } catch ServerError.cannotListen(let host, let port, let reason) {
            throw UsageError("\(settings.address(host, port)): cannot listen there: \(reason)")
        } catch {
            throw UsageError("\(error)")
        }
        let descriptors = Rating.descriptors(wanted: settings.maxConnections)
        if descriptors.grade == .error { warnings.append(descriptors.text) }
        for warning in warnings { log.warning(about: OperatorText(warning)) }
        if settings.store == nil, !settings.isInMemory, let note = DatabaseNote(in: settings.data) {
            log.warning(
                "the calls were in a PostgreSQL database, and this start goes on with the older ones in the data folder",
                [.data(OperatorText(settings.data))]
            )
            note.remove()
        }
        if settings.apns == nil {
            log.warning(
                settings.firebase == nil && settings.webPush == nil
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
        // The log lines so far are written before the line `listening on …`, so that a script that waits for that line
        // finds them.
        LogWriter.waitUntilWritten(limitMilliseconds: 1_000)
        announce(gateway, log)
        audit.write("started", [("version", .text(Version.text))])
        // Deferred blocks run in reverse order, so `audit.end()` runs before the deferred `waitUntilWritten` above,
        // which then waits for the audit lines too.
        defer { audit.end() }
        let serve = { @Sendable [weak gateway] (certificate: ServerCertificate) in gateway?.serve(certificate) ?? () }
        let keyRenewal = KeyRenewal(
            settings: reread,
            tokens: keys.tokens,
            capabilityKeys: keys.capabilityKeys,
            coturn: coturn,
            push: push,
            clock: clock,
            audit: audit,
            log: log
        )
        let commandFolder = settings.isInMemory ? nil : CommandFolder(folder: settings.data)
        let scanCommands = { @Sendable [weak gateway] in
            commandFolder?.scan(reportingCommands: { audit.record($0, by: $1) }) { gateway?.carryOut($0, done: $1) }
        }
        // Carries out the commands that were left while no server ran, before any client is served.
        scanCommands()
        let tick: SignalWatch.Action = { [clock, weak gateway] in
            for event in clock.takeEvents() { gateway?.take(event) }
            renewal?.reloadIfChanged(serve)
            gateway?.renewTickets()
            scanCommands()
            keyRenewal.tick()
            keySetFetcher?.tick()
            audit.tick()
            log.writeSums()
        }
        let reload = { @Sendable in
            if renewal?.load(serve) == nil { log.notice("SIGHUP: no certificate is configured") }
            keyRenewal.load()
            do throws(UsageError) { try audit.reopen() } catch {
                log.error(
                    "the audit log cannot be reopened; the previous file stays in use",
                    [.error(about: OperatorText("\(error)"))]
                )
            }
        }
        let actions = Self.actions(reload, threshold, log)
        let loopWatch = LoopWatch(
            gateway.loopPosts,
            clients: push.loopPosts + (keySetFetcher.map { fetcher in [{ fetcher.onLoop($0) }] } ?? []),
            ServiceManager(ProcessInfo.processInfo.environment),
            log
        )
        loopWatch.serves()
        startWatch.end()
        watch.start(on: actions, everySecond: tick, watching: { loopWatch.tick() }) { [weak gateway] in
            loopWatch.stops()
            gateway?.drain()
        }
        gateway.run()
        loopWatch.gatewayEnded()
        push.shutdown(limitMilliseconds: 2_000)
        if let failure = gateway.storeFailure { throw UsageError(failure.message) }
        if gateway.needsNewRun, !SignalWatch.hasPending { try beginAnew(audit, log) }
        log.writeSums(isLast: true)
        log.notice("stopped")
    }

    /// Opens the gateway as one node of several, which use one database.
    private func open(
        _ gateway: Gateway,
        as nodes: NodeSettings,
        in database: ConnectionSettings,
        _ push: any PushSender,
        _ keys: Keys,
        _ coturn: CoturnCredentials?,
        _ log: ServerLog
    ) throws {
        let options = try storeOptions(database, for: gateway, log)
        // A name that an operator recognizes, and a part that differs in each run.
        let run = Base64URL.encode(SecureRandom.bytes(6))
        guard let id = NodeID("\(options.machine.prefix(40))-\(run)") ?? NodeID(run) else { return }
        let register = PostgresOwnershipRegister(
            options,
            node: id,
            address: nodes.address.text,
            version: Version.text,
            settings: { [settings] secret in SharedSetting.digests(of: settings.shared, secret: secret) },
            storeReport: { [weak gateway] report in gateway?.take(report) },
            report: { [weak gateway] report in gateway?.handleOwnershipReport(report) }
        )
        try gateway.open(
            as: NodeConfiguration(id: id, listen: (nodes.listen.host, nodes.listen.port)),
            register: register,
            push: push,
            capabilities: { secret in
                keys.capabilityKeys.derive(from: secret, at: clock.now())
                return keys.capabilities
            },
            turnCredentials: coturn
        )
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

    private func makeStore(for gateway: Gateway, _ log: ServerLog) throws(UsageError) -> any CallStore {
        let report = { @Sendable [weak gateway] (report: StoreReport) in gateway?.take(report) ?? () }
        guard !settings.isInMemory else { return MemoryCallStore(report: report) }
        if let database = settings.store {
            return PostgresCallStore(try storeOptions(database, for: gateway, log), report: report)
        }
        return SQLiteCallStore(folder: settings.data, lockWait: lockWait(log), report: report)
    }

    private func lockWait(_ log: ServerLog) -> LockWait {
        LockWait(
            milliseconds: settings.waitsForData,
            waits: { holder in
                log.notice(
                    "waiting for the data folder, which another ringline is using",
                    [.data(OperatorText(settings.data)), .process(holder)]
                )
            },
            isOver: { SignalWatch.hasPending }
        )
    }

    /// The options of the PostgreSQL database that the settings name.
    private func storeOptions(
        _ database: ConnectionSettings,
        for gateway: Gateway,
        _ log: ServerLog
    ) throws(UsageError) -> StoreOptions {
        var options = try StoreOptions(database, passwordFile: settings.storePasswordFile)
        options.leaseMilliseconds = settings.leaseMilliseconds
        let shown = database.shown
        // The wait for the data folder is part of the same time.
        let waited = (ContinuousClock.now - beganAt) / .milliseconds(1)
        options.ownerWait = OwnerWait(
            milliseconds: max(0, settings.waitsForData - Int64(waited)),
            onWait: { [weak gateway] owner in
                gateway?.startIsDelayed(by: .storeInUse)
                log.notice(
                    "waiting for the database, which another ringline owns",
                    [.data(OperatorText(shown)), .databaseOwner(UntrustedText(owner))]
                )
            },
            isOver: { SignalWatch.hasPending },
            onDelay: { [weak gateway] reason in
                gateway?.startIsDelayed(by: .storeUnavailable)
                log.warning("the start waits for the database", [.error(UntrustedText(reason))])
            },
            onMissedRenewal: { reason in
                log.warning(
                    "the lease on the database was not renewed while the calls were read",
                    [.error(UntrustedText(reason))]
                )
            }
        )
        return options
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
