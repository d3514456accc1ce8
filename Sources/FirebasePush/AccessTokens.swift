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
/// endpoint is not asked again for a moment, and pushes get the same failure.
///
/// Source: "Using OAuth 2.0 for server to server applications", Google; RFC 7523.
final class AccessTokens: Sendable {
    /// The outcome that a push gets: the token, or the result to report.
    typealias Outcome = Result<String, Failure>

    /// The result of a push that got no token.
    struct Failure: Error {
        let result: PushResult
    }

    /// How long before its end a token is renewed, in milliseconds.
    static let renewedBefore: Int64 = 5 * 60_000
    /// The time limit of a request for a token, in milliseconds.
    static let requestLimit: Int64 = 10_000
    /// How long the endpoint is left alone after it refused the account, in milliseconds.
    static let pauseAfterRefusal: Int64 = 10_000
    /// How long the endpoint is left alone after a fault that passes, in milliseconds, unless it names a time.
    static let pauseAfterFault: Int64 = 500

    private struct Token {
        let text: String
        /// When the token ends, by the steady clock.
        let endsAt: Int64
    }

    private struct State {
        var configuration: FirebaseConfiguration
        var token: Token?
        var isAsking = false
        var waiting: [(id: PushID, use: @Sendable (Outcome) -> Void)] = []
        /// The last failure, and until when it holds, by the steady clock.
        var failure: (failure: Failure, until: Int64)?

        func isPausing(at now: Int64) -> Bool { failure.map { now < $0.until } ?? false }

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

    /// Fetches tokens for another account from now on.
    func use(_ configuration: FirebaseConfiguration) {
        state.withLock { state in
            state.configuration = configuration
            state.token = nil
            state.failure = nil
        }
    }

    /// Calls `use` with the token, immediately or when it was fetched.
    ///
    /// The call is made exactly once, unless ``forget(_:)`` prevents it.
    func take(for id: PushID, _ use: @escaping @Sendable (Outcome) -> Void) {
        let (outcome, mustAsk): (Outcome?, Bool) = state.withLock { state in
            let now = state.configuration.steadyClock()
            if let token = state.token, now < token.endsAt {
                let isDue = token.endsAt - now <= Self.renewedBefore && !state.isAsking && !state.isPausing(at: now)
                state.isAsking = state.isAsking || isDue
                return (.success(token.text), isDue)
            }
            if !state.isAsking, let (failure, until) = state.failure, now < until { return (.failure(failure), false) }
            state.waiting.append((id, use))
            defer { state.isAsking = true }
            return (nil, !state.isAsking)
        }
        if mustAsk { ask() }
        if let outcome { use(outcome) }
    }

    /// Stops waiting for a push; returns false if the push does not wait.
    func forget(_ id: PushID) -> Bool {
        state.withLock { state in
            guard let place = state.waiting.firstIndex(where: { $0.id == id }) else { return false }
            state.waiting.remove(at: place)
            return true
        }
    }

    /// Drops a token that Google refused, unless a newer one is there.
    func drop(_ refused: String) {
        state.withLock { state in if state.token?.text == refused { state.token = nil } }
    }

    private func ask() {
        let configuration = state.withLock { $0.configuration }
        let assertion: String
        do { assertion = try configuration.account.assertion(issuedAt: configuration.clock() / 1_000) } catch {
            return finish(.unreachable("the service account's assertion could not be signed"), Self.pauseAfterRefusal)
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
            case .success(let response): take(response, configuration)
            case .failure(let failure):
                finish(.unreachable("no access token: \(failure.description)"), Self.pauseAfterFault)
            }
        }
    }

    private func take(_ response: HTTPResponse, _ configuration: FirebaseConfiguration) {
        let object = FirebaseResponse.object(response.body, 0..<response.body.count)
        if response.status == 200, let text = object?.text("access_token"), Self.isSendable(text) {
            // Without `expires_in` the token is used once. An endpoint that names a long time is not believed.
            let seconds = min(max(object?.number("expires_in") ?? 1, 1), 86_400)
            return finish(Token(text: text, endsAt: configuration.steadyClock() + seconds * 1_000), of: configuration)
        }
        let now = Moment(milliseconds: configuration.expiryClock())
        let reason = object?.text("error").flatMap(FirebaseResponse.word)
        if let until = FirebaseResponse.retryAt(response, at: now, wall: configuration.clock()) {
            let result = PushResult.deferred(status: response.status, reason: reason, until: until)
            return finish(result, (until - now).milliseconds)
        }
        guard FirebaseResponse.isPassing(response.status) else {
            // A 200 without a token is as useless as a refusal, but must not count as an accepted push.
            let status = response.status == 200 ? 502 : response.status
            return finish(.response(status: status, reason: reason, timestamp: nil), Self.pauseAfterRefusal)
        }
        finish(.response(status: response.status, reason: reason, timestamp: nil), Self.pauseAfterFault)
    }

    private func finish(_ token: Token, of configuration: FirebaseConfiguration) {
        let waiting = state.withLock { state in
            state.isAsking = false
            state.failure = nil
            // The account may have been replaced meanwhile. Its token still serves the pushes that waited for it.
            if state.configuration.account.isSame(as: configuration.account) { state.token = token }
            return state.takeWaiting()
        }
        for push in waiting { push.use(.success(token.text)) }
    }

    private func finish(_ result: PushResult, _ pause: Int64) {
        let failure = Failure(result: result)
        let waiting = state.withLock { state in
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
