import CallCore
import CallPorts
import CallTrace
import Crypto
import Gateway
import Identity
import MemoryStore
import ServerLog
import Threads

/// A server that keeps everything in the memory of this process, with keys of this run.
///
/// Its calls can be explained while it runs, from any one thread.
final class MemoryServer: Sendable {
    let issuer: TokenIssuer
    private let memory = Memory()
    private let gateway: Gateway
    private let reader: MemoryCallStore
    private let result: Monitor<StoreResult?>

    /// Creates a server, which listens from now on, and serves on the thread that calls ``run()``.
    init(
        _ settings: ServeSettings,
        _ configuration: GatewayConfiguration,
        push: (@escaping @Sendable (PushID, PushResult) -> Void) -> any PushSender
    ) throws(UsageError) {
        let secret = SecureRandom.bytes(32)
        issuer = TokenIssuer(secret: secret)
        let capabilityKeys = try CapabilityKeys(settings, at: configuration.clock.now())
        let authenticator = JWTAuthenticator(
            tokens: try TokenKeys(secret: secret),
            capabilityKeys: capabilityKeys,
            audit: try AuditLog(nil),
            log: .silent
        )
        let gateway = Gateway(configuration: configuration, authenticator: authenticator, log: .silent)
        self.gateway = gateway
        let result = Monitor<StoreResult?>(nil)
        self.result = result
        // The memory reports a result before `submit` returns.
        reader = MemoryCallStore(memory) { report in
            if case .queryResult(_, let found) = report { result.withLock { $0 = found } }
        }
        do {
            try gateway.open(
                store: MemoryCallStore(memory) { [weak gateway] report in gateway?.take(report) },
                push: push { [weak gateway] id, result in gateway?.take(id, result) },
                capabilities: RingCapabilities(keys: capabilityKeys)
            )
        } catch { throw UsageError("\(error)") }
    }

    /// The port on which it listens.
    var port: Int { gateway.port }

    /// Serves until ``stop()``.
    func run() { gateway.run() }

    /// Ends in good order; from any thread.
    func stop() { gateway.drain() }

    /// Returns the newest call that fits, explained as of now; `nil` = there is none.
    func explanation(of choice: CallSelector, devices: [DeviceRecord]) -> Explanation? {
        guard case .timeline(let record?, let events) = read(.timeline(choice)) else { return nil }
        var log: [EntryRecord] = []
        if case .log(let stored?) = read(.log(record.number)) { log = stored.entries }
        let now = Moment(milliseconds: SystemClock.wall())
        return Explanation(record: record, events: events, log: log, devices: devices, at: now)
    }

    private func read(_ query: StoreQuery) -> StoreResult? {
        reader.submit(query, as: StoreQueryID(rawValue: 1))
        return result.withLock { $0 }
    }
}
