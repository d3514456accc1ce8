import CallPorts
import CallTrace
import Crypto
import Gateway
import Identity
import MemoryStore
import ServerLog
import Switchboard
import Threads

/// A server that keeps everything in the memory of this process, with keys of this run: that of `ringline demo` and of
/// `ringline try`.
struct MemoryServer {
    let issuer: TokenIssuer
    /// The calls, explained while the server runs.
    let calls: DemoCalls
    private let memory = Memory()
    private let capabilityKeys: CapabilityKeys
    private let authenticator: JWTAuthenticator
    private let log: ServerLog

    /// Makes the keys and an empty memory.
    init(
        _ settings: ServeSettings,
        names: CallNames,
        _ clock: ServerClock,
        _ log: ServerLog
    ) throws(UsageError) {
        let secret = SecureRandom.bytes(32)
        issuer = TokenIssuer(secret: secret)
        calls = DemoCalls(memory, names: names)
        capabilityKeys = try CapabilityKeys(settings, at: clock.now())
        authenticator = JWTAuthenticator(
            tokens: try TokenKeys(secret: secret),
            capabilityKeys: capabilityKeys,
            audit: try AuditLog(nil),
            log: log
        )
        self.log = log
    }

    /// Listens; the server serves on the thread that calls `run` of the returned value.
    func open(
        _ configuration: GatewayConfiguration,
        pushes: DemoPushes,
        turnCredentials: (any TURNCredentialIssuer)? = nil
    ) throws(UsageError) -> Gateway {
        let gateway = Gateway(configuration: configuration, authenticator: authenticator, log: log)
        do {
            try gateway.open(
                store: MemoryCallStore(memory) { [weak gateway] report in gateway?.storeReported(report) },
                senders: Senders(
                    push: DemoPushSender(to: pushes) { [weak gateway] id, result in gateway?.pushFinished(id, result) }
                ),
                ports: Switchboard.Ports(
                    capabilities: RingCapabilities(keys: capabilityKeys),
                    turnCredentials: turnCredentials,
                    timeZones: TimeZoneFiles(),
                    explainer: Verdicts(),
                    random: SystemRandomNumberGenerator()
                )
            )
        } catch { throw UsageError("\(error)") }
        return gateway
    }
}
