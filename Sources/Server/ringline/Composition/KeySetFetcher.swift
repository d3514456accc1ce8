import Identity
import OutboundHTTP
import ServerLog
import Threads

/// Fetches a published key set (JWKS) repeatedly: when the set may have changed, and when a token names a key that the
/// set lacks.
///
/// The last usable set stays in force until another one arrives.
final class KeySetFetcher: Sendable {
    /// The largest accepted body, in bytes.
    ///
    /// A set of many keys has about 30 KB.
    private static let bodyLimit = 256 << 10
    private static let timeoutMilliseconds: Int64 = 10_000
    /// How often a repeated failure is logged: the first one, and then every tenth.
    private static let logAgainAfter = 10

    let keys: PublishedKeys
    private let client: HTTPClient
    private let log: ServerLog
    /// Puts a set into use and returns its number of keys.
    private let useKeySet: @Sendable ([UInt8]) throws(UsageError) -> Int
    private let state: Monitor<State>

    private struct State {
        var schedule: KeySetSchedule
        /// The time of the last successful fetch, in milliseconds since boot.
        ///
        /// Before the first fetch, the time of this object's creation.
        var freshAt: Int64
        var keyCount = 0
        var failures: UInt64 = 0
    }

    /// The figures for metrics.
    struct Figures {
        /// Seconds since the last successful fetch; before the first one, since the start.
        let ageSeconds: Int64
        /// The number of failed fetches.
        let failures: UInt64
        /// The number of keys in the current set; 0 if none has arrived yet.
        let keys: Int
    }

    /// Creates a fetcher that fetches nothing before the first ``tick()``.
    init(
        _ keys: PublishedKeys,
        log: ServerLog,
        useKeySet: @escaping @Sendable ([UInt8]) throws(UsageError) -> Int
    ) throws(UsageError) {
        self.keys = keys
        self.log = log
        self.useKeySet = useKeySet
        client = try Self.client(keys)
        let now = SystemClock.boot()
        state = Monitor(State(schedule: KeySetSchedule(at: now), freshAt: now))
    }

    var figures: Figures {
        state.withLock { state in
            Figures(
                ageSeconds: max(0, SystemClock.boot() - state.freshAt) / 1_000,
                failures: state.failures,
                keys: state.keyCount
            )
        }
    }

    /// The numbers of its requests and hosts.
    var clientFigures: HTTPClientFigures { client.figures }

    /// Whether no set has arrived yet.
    var isEmpty: Bool { state.withLock { $0.keyCount == 0 } }

    /// Starts a fetch when one is due.
    ///
    /// To be called from time to time, on any thread.
    func tick() {
        guard state.withLock({ $0.schedule.begins(at: SystemClock.boot()) }) else { return }
        log.debug("the key set is being fetched", [.keySet(OperatorText(keys.url))])
        Self.fetch(keys, client) { [weak self] result in self?.fetchFinished(result) }
    }

    /// Handles a token that names an unknown key, or that came while there was no key at all.
    ///
    /// - Returns: whether the key may arrive in a moment.
    func missed() -> Bool {
        let mayCome = state.withLock { state in
            state.keyCount == 0 || state.schedule.missed(at: SystemClock.boot())
        }
        if mayCome { tick() }
        return mayCome
    }

    /// Fetches as soon as possible; called on SIGHUP.
    func fetchSoon() {
        state.withLock { $0.schedule.fetchSoon(at: SystemClock.boot()) }
        tick()
    }

    /// Runs a closure on the loop of the client, where it must not block; from any thread.
    func onLoop(_ body: @escaping @Sendable () -> Void) { client.call(afterMilliseconds: 0, body) }

    /// Cancels a fetch under way, so that the fetch does not delay the end of the process.
    func shutdown() { client.shutdown(limitMilliseconds: 0) }

    private func fetchFinished(_ result: Result<Fetched, UsageError>) {
        let now = SystemClock.boot()
        do throws(UsageError) {
            let fetched = try result.get()
            let count = try useKeySet(fetched.json)
            let (failures, before) = state.withLock { state in
                defer {
                    state.schedule.succeeded(at: now, life: fetched.life)
                    (state.freshAt, state.keyCount) = (now, count)
                }
                return (state.schedule.failures, state.keyCount)
            }
            log.log(
                level: before == 0 || failures > 0 ? .notice : .debug,
                "the key set was fetched",
                [.keySet(OperatorText(keys.url)), .keySetKeys(count)]
            )
        } catch {
            let failures = state.withLock { state in
                state.schedule.failed(at: now)
                state.failures += 1
                return state.schedule.failures
            }
            log.log(
                level: failures == 1 || failures % Self.logAgainAfter == 0 ? .error : .debug,
                "the key set cannot be fetched; the previous keys stay in use",
                [.keySet(OperatorText(keys.url)), .keySetFailures(failures), .error(UntrustedText("\(error)"))]
            )
        }
    }

    // MARK: One fetch

    /// A fetched set as it arrived, and the time in milliseconds for which its server declares it fresh; `nil` if the
    /// server declares none.
    struct Fetched {
        let json: [UInt8]
        let life: Int64?
    }

    /// Fetches once and waits for the result; for the doctor.
    static func fetch(_ keys: PublishedKeys) throws(UsageError) -> Fetched {
        let client = try client(keys)
        let response = Monitor<Result<Fetched, UsageError>?>(nil)
        fetch(keys, client) { result in response.withLock { $0 = result } }
        let result = response.wait { $0 }
        client.shutdown(limitMilliseconds: 500)
        return try result.get()
    }

    private static func fetch(
        _ keys: PublishedKeys,
        _ client: HTTPClient,
        _ completion: @escaping @Sendable (Result<Fetched, UsageError>) -> Void
    ) {
        var request = HTTPRequest(
            method: "GET",
            url: keys.url,
            headers: [
                HTTPHeader("accept", "application/jwk-set+json, application/json"),
                HTTPHeader("user-agent", "ringline/\(Version.text)"),
            ],
            timeoutMilliseconds: timeoutMilliseconds
        )
        request.bodyLimit = bodyLimit
        request.wantedHeaders = ["cache-control"]
        client.send(request) { outcome in
            switch outcome {
            case .success(let response) where response.status == 200:
                let life = response.header("cache-control").flatMap(KeySetSchedule.life(cacheControl:))
                completion(.success(Fetched(json: response.body, life: life)))
            case .success(let response):
                completion(.failure(UsageError("the response's status was \(response.status) instead of 200")))
            case .failure(let failure): completion(.failure(UsageError(failure.description)))
            }
        }
    }

    private static func client(_ keys: PublishedKeys) throws(UsageError) -> HTTPClient {
        var configuration = HTTPClientConfiguration(.keySet, threadName: "jwks")
        configuration.caFile = keys.caFile
        try keys.caFile.map { path throws(UsageError) in
            try ServerApplication.checkAuthorities(path, for: "jwks-ca-file")
        }
        do throws(HTTPClientError) { return try HTTPClient(configuration) } catch {
            throw UsageError("--jwks-url: \(error)")
        }
    }
}
