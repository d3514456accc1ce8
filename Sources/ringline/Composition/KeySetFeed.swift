import Dispatch
import Identity
import Logging
import OutboundHTTP
import Threads

/// Fetches a published key set, again and again: when it may have changed, and when a token names a key that it lacks.
///
/// The last set that could be used stays in force for as long as no other comes.
final class KeySetFeed: Sendable {
    /// A set of many keys has some 30 KB.
    private static let bodyLimit = 256 << 10
    private static let timeoutMilliseconds: Int64 = 10_000
    /// A failure is said at once, and then as often as this.
    private static let sayAgainAfter = 10

    let keys: PublishedKeys
    private let client: HTTPClient
    private let log: Logger
    /// Takes a set into use; says how many keys it has.
    private let take: @Sendable ([UInt8]) throws(Complaint) -> Int
    private let state: Locked<State>

    private struct State {
        var schedule: KeySetSchedule
        /// When a set last came, or the first was asked for.
        var freshAt: Int64
        var keyCount = 0
        var failures: UInt64 = 0
    }

    /// What is counted.
    struct Figures {
        /// Seconds since a set last came; before the first, since the start.
        let ageSeconds: Int64
        /// Fetches that brought none.
        let failures: UInt64
        /// Keys of the set in force; 0: none has come yet.
        let keys: Int
    }

    /// Fetches nothing before the first ``tick()``.
    init(
        _ keys: PublishedKeys,
        log: Logger,
        take: @escaping @Sendable ([UInt8]) throws(Complaint) -> Int
    ) throws(Complaint) {
        self.keys = keys
        self.log = log
        self.take = take
        client = try Self.client(keys)
        let now = SystemClock.boot()
        state = Locked(State(schedule: KeySetSchedule(at: now), freshAt: now))
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

    /// Whether no set has come yet.
    var isEmpty: Bool { state.withLock { $0.keyCount == 0 } }

    /// Fetches when it is time; from time to time, from any thread.
    func tick() {
        guard state.withLock({ $0.schedule.begins(at: SystemClock.boot()) }) else { return }
        Self.fetch(keys, client) { [weak self] result in self?.took(result) }
    }

    /// A token names a key that is not there, or there is no key at all: whether it may be there in a moment.
    func missed() -> Bool {
        let mayCome = state.withLock { state in
            state.keyCount == 0 || state.schedule.missed(at: SystemClock.boot())
        }
        if mayCome { tick() }
        return mayCome
    }

    /// Fetches at once: on SIGHUP.
    func hurry() {
        state.withLock { $0.schedule.hurry(at: SystemClock.boot()) }
        tick()
    }

    /// Lets nothing under way hold up the end.
    func shutdown() { client.shutdown(limitMilliseconds: 0) }

    private func took(_ result: Result<Fetched, Complaint>) {
        let now = SystemClock.boot()
        do throws(Complaint) {
            let fetched = try result.get()
            let count = try take(fetched.json)
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
                metadata: ["jwks.url": "\(keys.url)", "jwks.keys": "\(count)"]
            )
        } catch {
            let failures = state.withLock { state in
                state.schedule.failed(at: now)
                state.failures += 1
                return state.schedule.failures
            }
            guard failures == 1 || failures % Self.sayAgainAfter == 0 else { return }
            log.error(
                "the key set cannot be fetched; the keys before stay in force",
                metadata: ["jwks.url": "\(keys.url)", "jwks.failures": "\(failures)", "error": "\(error)"]
            )
        }
    }

    // MARK: One fetch

    /// A set as it came, and for how long its server calls it fresh.
    struct Fetched {
        let json: [UInt8]
        let life: Int64?
    }

    /// Fetches once and waits for it: for the doctor.
    static func fetch(_ keys: PublishedKeys) throws(Complaint) -> Fetched {
        let client = try client(keys)
        let (answer, done) = (Locked<Result<Fetched, Complaint>?>(nil), DispatchSemaphore(value: 0))
        fetch(keys, client) { result in
            answer.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        client.shutdown(limitMilliseconds: 500)
        guard let result = answer.withLock({ $0 }) else { throw Complaint("there was no answer") }
        return try result.get()
    }

    private static func fetch(
        _ keys: PublishedKeys,
        _ client: HTTPClient,
        _ completion: @escaping @Sendable (Result<Fetched, Complaint>) -> Void
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
                completion(.failure(Complaint("it was answered with \(response.status); 200 is wanted")))
            case .failure(let failure): completion(.failure(Complaint(failure.description)))
            }
        }
    }

    private static func client(_ keys: PublishedKeys) throws(Complaint) -> HTTPClient {
        var configuration = HTTPClientConfiguration()
        configuration.caFile = keys.caFile
        configuration.threadName = "jwks"
        try keys.caFile.map { path throws(Complaint) in try Launch.checkAuthorities(path, for: "jwks-ca-file") }
        do throws(HTTPClientError) { return try HTTPClient(configuration) } catch {
            throw Complaint("--jwks-url: \(error)")
        }
    }
}
