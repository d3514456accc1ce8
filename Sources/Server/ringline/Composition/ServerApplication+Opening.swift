import CallPorts
import CallTrace
import Crypto
import Gateway
import Identity
import LibWebSockets
import MemoryStore
import Postgres
import PostgresStore
import SQLiteStore
import ServerLog
import Switchboard
import Threads

/// Opens the server's store, and says what is wrong if that fails.
extension ServerApplication {
    /// Opens the gateway's store, as the only server or as one node of several, and its listeners.
    func open(_ gateway: Gateway, _ senders: Senders, _ parts: ServerParts, _ log: ServerLog) throws {
        if let nodes = settings.nodes, let database = settings.store {
            try open(gateway, as: nodes, in: database, senders, parts.keys, parts.coturn, log)
        } else {
            let store = try makeStore(for: gateway, log)
            try gateway.open(
                store: store,
                senders: senders,
                ports: ports(parts.keys, parts.coturn)
            )
        }
        // A start that has failed, with a mistake in the URL for instance, has moved no calls.
        if let url = settings.storeURL { DatabaseNote.write(url, in: settings.data) }
    }

    /// Returns what to tell the operator of a gateway that cannot open.
    func refusal(of failure: any Error) -> UsageError {
        switch failure {
        case ServerError.badCertificate(_, let reason):
            return settings.tls.map { TLSFiles(tls: $0).refusal(reason) } ?? UsageError(reason)
        case ServerError.unreadableFile(let path, let reason):
            let option = path == settings.tls?.certificatePath ? "--tls-cert" : "--tls-key"
            return UsageError("\(option): cannot read \(SecretFile.shown(path)): \(reason)")
        case ServerError.portTaken(let host, let port):
            return UsageError("\(settings.address(host, port)): another process listens there: stop it, or change this")
        case ServerError.cannotListen(let host, let port, let reason):
            return UsageError("\(settings.address(host, port)): cannot listen there: \(reason)")
        default: return UsageError("\(failure)")
        }
    }

    /// Opens the gateway as one node of several, which use one database.
    private func open(
        _ gateway: Gateway,
        as nodes: NodeSettings,
        in database: ConnectionSettings,
        _ senders: Senders,
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
            storeReport: { [weak gateway] report in gateway?.storeReported(report) },
            report: { [weak gateway] report in gateway?.handleOwnershipReport(report) }
        )
        try gateway.open(
            as: NodeConfiguration(id: id, listen: (nodes.listen.host, nodes.listen.port)),
            register: register,
            senders: senders,
            ports: { secret in
                keys.capabilityKeys.derive(from: secret, at: clock.now())
                return ports(keys, coturn)
            }
        )
    }

    /// The ports of the switchboard.
    private func ports(_ keys: Keys, _ coturn: CoturnCredentials?) -> Switchboard.Ports {
        Switchboard.Ports(
            capabilities: keys.capabilities,
            turnCredentials: coturn,
            timeZones: TimeZoneFiles(),
            explainer: Verdicts(),
            random: SystemRandomNumberGenerator()
        )
    }

    private func makeStore(for gateway: Gateway, _ log: ServerLog) throws(UsageError) -> any CallStore {
        let report = { @Sendable [weak gateway] (report: StoreReport) in gateway?.storeReported(report) ?? () }
        guard !settings.isInMemory else { return MemoryCallStore(report: report) }
        if let database = settings.store {
            return PostgresCallStore(try storeOptions(database, for: gateway, log), report: report)
        }
        return SQLiteCallStore(folder: settings.data, lockWait: lockWait(log), report: report)
    }

    /// Returns how the start waits for a data folder that another process uses.
    func lockWait(_ log: ServerLog) -> LockWait {
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
}
