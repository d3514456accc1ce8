import CallCore
import CallPorts
import Crypto
import JSON
import OutboundHTTP
import Threads

/// The access token with which messages are sent: it is fetched when the first push needs it, kept, and renewed.
///
/// One request at a time goes to the token endpoint; all pushes that need a token wait for it. A token is renewed at
/// the first use within the last five minutes of its life, and is used until the new one is there. After a failure the
/// endpoint is not asked again for a while, at most a minute, and pushes get the same failure. The same holds after
/// Google has refused two tokens in a row, the second for two devices: another one would be no better (`TokenTrust`).
///
/// Source: "Using OAuth 2.0 for server to server applications", Google; RFC 7523.
final class AccessTokens: Sendable {
    /// The outcome that a push gets: the token, or the result to report.
    typealias Outcome = Result<AccessToken, Failure>

    /// A token, and the project whose messages it authorises.
    struct AccessToken {
        let text: String
        let projectID: String
    }

    /// The result of a push that got no token.
    struct Failure: Error {
        let result: PushResult
    }

    /// The consequence of a refused token for its push.
    enum Refusal {
        /// Another token will be fetched.
        case replaced
        /// The token was replaced before.
        case wasReplaced
        /// The token stays, because Google accepts it for other devices.
        case messageIsAtFault
        /// The push is not sent again now.
        case failed(Failure)
    }

    /// How long before its end a token is renewed, in milliseconds.
    static let renewedBefore: Int64 = 5 * 60_000
    /// The time limit of a request for a token, in milliseconds.
    static let requestLimit: Int64 = 5_000
    /// How long the endpoint is left alone after it refused the account, in milliseconds.
    static let pauseAfterRefusal: Int64 = 10_000
    /// How long the endpoint is left alone after a fault that passes, in milliseconds, unless it names a time.
    static let pauseAfterFault: Int64 = 500
    /// How long the endpoint is left alone at most, in milliseconds: meanwhile no Android device rings.
    static let longestPause: Int64 = 60_000

    /// How long a push whose device has another route waits for a token, in milliseconds, from when the token was asked for.
    static let patience: Int64 = 1_000

    private struct Token {
        let access: AccessToken
        /// When the token ends, by the steady clock.
        let endsAt: Int64
    }

    private struct State {
        var configuration: FirebaseConfiguration
        /// The number of the account; the outcome of a request for an earlier account is dropped.
        var generation = 0
        var token: Token?
        var isAsking = false
        /// When the awaited token was asked for, by the steady clock.
        var askedAt: Int64 = 0
        /// Decides about the token when Google refuses it.
        var trust = TokenTrust()
        var waiting: [(id: PushID, use: @Sendable (Outcome) -> Void)] = []
        /// The last failure, and until when it holds, by the steady clock.
        var failure: (failure: Failure, until: Int64)?

        /// Returns the last failure while the endpoint is left alone because of it.
        func heldFailure(at now: Int64) -> Failure? { failure.flatMap { now < $0.until ? $0.failure : nil } }

        mutating func takeWaiting() -> [(id: PushID, use: @Sendable (Outcome) -> Void)] {
            defer { waiting = [] }
            return waiting
        }
    }

    private let state: Monitor<State>
    private let client: HTTPClient

    init(_ configuration: FirebaseConfiguration, _ client: HTTPClient) {
        state = Monitor(State(configuration: configuration))
        self.client = client
    }

    /// Fetches tokens for this account from now on, and forgets earlier tokens and failures.
    func use(_ configuration: FirebaseConfiguration) {
        let mustAsk = state.withLock { state in
            state.configuration = configuration
            state.generation += 1
            state.token = nil
            state.failure = nil
            state.trust = TokenTrust()
            state.isAsking = !state.waiting.isEmpty
            return state.isAsking
        }
        if mustAsk { ask() }
    }

    /// Calls `use` with the token, immediately or when it was fetched.
    ///
    /// The call is made exactly once, unless ``forget(_:)`` prevents it. `isPatient`: Whether the push waits as long as it
    /// takes; otherwise it gets a failure if the token does not come soon.
    func useToken(for id: PushID, isPatient: Bool = true, _ use: @escaping @Sendable (Outcome) -> Void) {
        let (outcome, mustAsk): (Outcome?, Bool) = state.withLock { state in
            let now = state.configuration.steadyClock()
            if let token = state.token, now < token.endsAt {
                let isDue =
                    token.endsAt - now <= Self.renewedBefore && !state.isAsking && state.heldFailure(at: now) == nil
                state.isAsking = state.isAsking || isDue
                return (.success(token.access), isDue)
            }
            if !state.isAsking, let failure = state.heldFailure(at: now) { return (.failure(failure), false) }
            state.waiting.append((id, use))
            defer { state.isAsking = true }
            return (nil, !state.isAsking)
        }
        if mustAsk { ask() }
        if let outcome { use(outcome) } else if !isPatient { limitPatience(of: id) }
    }

    /// Ends a push's wait for a token if it takes long, so that its device is rung by another route.
    private func limitPatience(of id: PushID) {
        let waited = state.withLock { $0.configuration.steadyClock() - $0.askedAt }
        client.call(afterMilliseconds: max(0, Self.patience - waited)) { [weak self] in
            let push = self?.state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
            }
            push?.use(.failure(Failure(result: .notSent("the token endpoint has not responded yet"))))
        }
    }

    /// Stops waiting for a push; returns false if the push does not wait.
    func forget(_ id: PushID) -> Bool {
        state.withLock { state in
            guard let place = state.waiting.firstIndex(where: { $0.id == id }) else { return false }
            state.waiting.remove(at: place)
            return true
        }
    }

    /// Records that Google refused a token for a device with a 401; returns what follows for the push.
    ///
    /// The token is dropped if it may be at fault. If it had replaced a refused one, the endpoint is left alone for a
    /// while, longer each time, and pushes are deferred until then.
    func refused(_ text: String, for device: String, _ reason: String?) -> Refusal {
        state.withLock { state in
            let now = state.configuration.steadyClock()
            guard state.token?.access.text == text else {
                return state.heldFailure(at: now).map { .failed($0) } ?? .wasReplaced
            }
            func failure(until: Int64) -> Failure {
                let moment = Moment(milliseconds: state.configuration.expiryClock()) + .milliseconds(until - now)
                return Failure(result: .deferred(status: 401, reason: reason, until: moment))
            }
            switch state.trust.refused(for: device, at: now) {
            case .messageIsAtFault: return .messageIsAtFault
            case .wait(let until): return .failed(failure(until: until))
            case .replace:
                state.token = nil
                return .replaced
            case .pause(let until):
                state.token = nil
                state.failure = (failure(until: until), until)
                return .failed(failure(until: until))
            }
        }
    }

    /// Records that Google has accepted a token.
    func accepted(_ text: String) {
        state.withLock { state in if state.token?.access.text == text { state.trust.accepted() } }
    }

    private func ask() {
        let (configuration, generation) = state.withLock { state in
            state.askedAt = state.configuration.steadyClock()
            return (state.configuration, state.generation)
        }
        let assertion: String
        do { assertion = try configuration.account.assertion(issuedAt: configuration.clock() / 1_000) } catch {
            return finish(
                .notSent("the service account's assertion could not be signed"),
                Self.pauseAfterRefusal,
                of: generation
            )
        }
        var request = HTTPRequest(
            method: "POST",
            url: configuration.account.tokenURI,
            headers: [HTTPHeader("content-type", "application/x-www-form-urlencoded")],
            body: Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)".utf8),
            timeoutMilliseconds: Self.requestLimit
        )
        request.bodyLimit = 64 << 10
        request.wantedHeaders = ["retry-after"]
        client.send(request) { [self] outcome in
            switch outcome {
            case .success(let response): responseReceived(response, configuration, generation)
            case .failure(let failure):
                finish(.notSent("no access token: \(failure.description)"), Self.pauseAfterFault, of: generation)
            }
        }
    }

    private func responseReceived(_ response: HTTPResponse, _ configuration: FirebaseConfiguration, _ generation: Int) {
        let object = PushResponse.object(response.body)
        if response.status == 200, let text = object?.text("access_token"), Self.isSendable(text) {
            // Without `expires_in` the token is used for a second. An endpoint that names a long time is not believed.
            let seconds = min(max(object?.number("expires_in") ?? 1, 1), 86_400)
            let access = AccessToken(text: text, projectID: configuration.account.projectID)
            return finish(
                Token(access: access, endsAt: configuration.steadyClock() + seconds * 1_000),
                of: generation
            )
        }
        // Such a response, of a proxy for instance, must not count as an accepted push, and a redirection not as a refusal.
        if (200...399).contains(response.status) {
            let why = "no access token: the token endpoint's response with \(response.status) has none"
            return finish(.notSent(why), Self.pauseAfterFault, of: generation)
        }
        let now = Moment(milliseconds: configuration.expiryClock())
        // No error of this endpoint says anything about a device's token.
        let said = object?.text("error").flatMap(PushResponse.word)
        let isOfDevice = [FirebaseReason.unregistered, FirebaseReason.invalidToken].contains(said)
        let reason = isOfDevice ? FirebaseReason.noAccessToken : said ?? FirebaseReason.noAccessToken
        if let asked = PushResponse.retryAt(response, at: now, wall: configuration.clock()) {
            let until = min(asked, now + .milliseconds(Self.longestPause))
            let result = PushResult.deferred(status: response.status, reason: reason, until: until)
            return finish(result, (until - now).milliseconds, of: generation)
        }
        guard PushResponse.isPassing(response.status) else {
            return finish(
                .response(status: response.status, reason: reason, timestamp: nil),
                Self.pauseAfterRefusal,
                of: generation
            )
        }
        finish(.response(status: response.status, reason: reason, timestamp: nil), Self.pauseAfterFault, of: generation)
    }

    private func finish(_ token: Token, of generation: Int) {
        let waiting = state.withLock { state -> [(id: PushID, use: @Sendable (Outcome) -> Void)] in
            guard state.generation == generation else { return [] }
            state.isAsking = false
            state.failure = nil
            state.token = token
            state.trust.fetched(at: state.configuration.steadyClock())
            return state.takeWaiting()
        }
        for push in waiting { push.use(.success(token.access)) }
    }

    private func finish(_ result: PushResult, _ pause: Int64, of generation: Int) {
        let failure = Failure(result: result)
        let waiting = state.withLock { state -> [(id: PushID, use: @Sendable (Outcome) -> Void)] in
            guard state.generation == generation else { return [] }
            state.isAsking = false
            state.failure = (failure, state.configuration.steadyClock() + pause)
            return state.takeWaiting()
        }
        for push in waiting { push.use(.failure(failure)) }
    }

    /// Returns whether a token can be sent in a header.
    private static func isSendable(_ text: String) -> Bool {
        (1...8_192).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}
