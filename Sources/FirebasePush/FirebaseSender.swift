import CallCore
public import CallPorts
import Crypto
import JSON
import OutboundHTTP
public import ServerLog
import Threads

/// A sender of pushes through Firebase Cloud Messaging's HTTP v1 API: the adapter of `PushSender` for Android devices.
///
/// If Google refuses the access token, the sender fetches another one and sends the message once more. Every other
/// response is reported, and if no response comes, the push is reported as unreachable. The caller decides whether
/// and when to send the push again. ``send(_:)`` and ``cancel(_:)`` do not block.
///
/// Source: "Method: projects.messages.send", Firebase; protocol, section 6.9.
public final class FirebaseSender: PushSender {
    private let configuration: Monitor<FirebaseConfiguration>
    private let tokens: AccessTokens
    private let client: HTTPClient
    private let report: @Sendable (PushID, PushResult) -> Void
    private let log: ServerLog
    /// How long a response is waited for, in milliseconds; then the push is reported, and can be sent again while the
    /// call rings.
    private static let responseLimit: Int64 = 10_000

    /// The pushes under way, for ``cancel(_:)``.
    private let pushes = Monitor<[PushID: UnderWay]>([:])

    /// A push under way.
    private struct UnderWay {
        let push: OutgoingPush
        /// The HTTP request of the present attempt; `nil` until it is known.
        var request: HTTPRequestID?
        /// Whether the present attempt is the second one, with another access token.
        var isSecond = false
        var isCancelled = false
    }

    /// Creates a sender; its connections are made with the first pushes.
    ///
    /// - Parameters:
    ///   - configuration: the account and the endpoint.
    ///   - log: the log for the sender's actions; push tokens are cut to their first six characters.
    ///   - report: called exactly once for each push, on the sender's thread or within ``send(_:)`` or ``cancel(_:)``.
    ///     The closure must only pass the result on, such as to the event loop.
    /// - Throws: ``FirebaseSenderError`` when libcurl is unusable or the system refuses a thread.
    public init(
        _ configuration: FirebaseConfiguration,
        log: ServerLog,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(FirebaseSenderError) {
        var http = HTTPClientConfiguration()
        http.caFile = configuration.caFile
        http.threadName = "firebase"
        do {
            client = try HTTPClient(http)
        } catch {
            throw FirebaseSenderError(description: "Firebase messages cannot be sent: \(error)")
        }
        self.configuration = Monitor(configuration)
        self.log = log
        self.report = report
        tokens = AccessTokens(configuration, client)
    }

    /// Sends one push; its result is reported, even if the push could not be sent at all.
    public func send(_ push: OutgoingPush) {
        guard case .firebase(let token) = push.route else {
            preconditionFailure("a push to APNs was handed to Firebase")
        }
        let isNew = pushes.withLock { $0.updateValue(UnderWay(push: push), forKey: push.id) == nil }
        precondition(isNew, "a push was sent twice under one id")
        log.debug("a push is sent to Firebase", fields(of: push, token) + [.pushBytes(push.payload.count)])
        sendWithToken(push)
    }

    /// Cancels a push that waits for an access token, or has not been sent on a connection yet.
    ///
    /// A push that was sent continues until Google responds, and is not sent a second time.
    public func cancel(_ id: PushID) {
        if tokens.forget(id) {
            if let push = pushes.withLock({ $0[id]?.push }) { finish(push, .cancelled) }
            return
        }
        let request = pushes.withLock { pending in
            pending[id]?.isCancelled = true
            return pending[id]?.request
        }
        if let request { client.cancel(request, onlyIfUnsent: true) }
    }

    /// Sends in the name of this configuration's account from now on.
    ///
    /// Call this method from any thread.
    public func use(_ configuration: FirebaseConfiguration) {
        self.configuration.withLock { $0 = configuration }
        tokens.use(configuration)
    }

    /// Shuts the sender down, and blocks until that is done.
    ///
    /// Pushes under way have this long to finish; the rest is reported as unreachable.
    public func shutdown(limitMilliseconds: Int64 = 2_000) { client.shutdown(limitMilliseconds: limitMilliseconds) }

    // MARK: One request

    private func sendWithToken(_ push: OutgoingPush) {
        tokens.take(for: push.id) { [self] outcome in
            switch outcome {
            case .success(let token): post(push, token)
            case .failure(let failure): finish(push, failure.result)
            }
        }
    }

    private func post(_ push: OutgoingPush, _ accessToken: AccessTokens.AccessToken) {
        let (isSecond, isCancelled) = pushes.withLock { pending in
            (pending[push.id]?.isSecond ?? false, pending[push.id]?.isCancelled ?? true)
        }
        if isCancelled { return finish(push, .cancelled) }
        let configuration = configuration.withLock { $0 }
        let request = client.send(Self.request(for: push, accessToken, configuration)) { [self] outcome in
            switch outcome {
            case .success(let response):
                let now = Moment(milliseconds: configuration.expiryClock())
                let result = FirebaseResponse.result(of: response, at: now, wall: configuration.clock())
                if case .response(401, let reason, _) = result, reason != "THIRD_PARTY_AUTH_ERROR", !isSecond {
                    tokens.drop(accessToken.text)
                    return repost(push)
                }
                finish(push, result)
            case .failure(.cancelled): finish(push, .cancelled)
            case .failure(let failure): finish(push, .unreachable(failure.description))
            }
        }
        // The request may already have an outcome. Then its push is no longer in `pushes`, or is at its second attempt.
        let mustCancel = pushes.withLock { pending in
            guard pending[push.id]?.isSecond == isSecond else { return false }
            pending[push.id]?.request = request
            return pending[push.id]?.isCancelled ?? false
        }
        if mustCancel { client.cancel(request, onlyIfUnsent: true) }
    }

    /// Sends the push again with another access token, unless it was cancelled.
    private func repost(_ push: OutgoingPush) {
        log.notice("Google rejected the access token; another one is fetched")
        let isCancelled = pushes.withLock { pending in
            pending[push.id]?.request = nil
            pending[push.id]?.isSecond = true
            return pending[push.id]?.isCancelled ?? false
        }
        if isCancelled { finish(push, .cancelled) } else { sendWithToken(push) }
    }

    private static func request(
        for push: OutgoingPush,
        _ accessToken: AccessTokens.AccessToken,
        _ configuration: FirebaseConfiguration
    ) -> HTTPRequest {
        let left = push.expiresAt.milliseconds - configuration.expiryClock()
        var request = HTTPRequest(
            method: "POST",
            url: "\(configuration.endpoint)/v1/projects/\(accessToken.projectID)/messages:send",
            headers: [
                HTTPHeader("content-type", "application/json; charset=utf-8"),
                HTTPHeader("authorization", "Bearer " + accessToken.text),
            ],
            body: FirebaseMessage.body(of: push, left: left, onlyValidates: configuration.onlyValidates),
            timeoutMilliseconds: min(left, responseLimit)
        )
        request.bodyLimit = 64 << 10
        request.wantedHeaders = ["retry-after"]
        return request
    }

    private func finish(_ push: OutgoingPush, _ result: PushResult) {
        guard pushes.withLock({ pending in pending.removeValue(forKey: push.id) != nil }) else { return }
        let fields = fields(of: push, push.route.token)
        switch result {
        case .response(let status, let reason, _), .deferred(let status, let reason, _):
            log.log(
                level: status == 200 ? .debug : .notice,
                "Firebase responded to a push",
                fields + [.pushStatus(status), reason.map { .pushReason(UntrustedText($0)) }]
            )
        case .unreachable(let why), .notSent(let why):
            log.notice("a push got no response", fields + [.error(UntrustedText(why))])
        case .cancelled, .onlyLogged:
            log.debug("a push was cancelled", fields)
        }
        report(push.id, result)
    }

    private func fields(of push: OutgoingPush, _ token: String) -> [LogField?] {
        [
            .push(push.id.rawValue), push.call.map { .call($0) }, push.device.map { .device($0) },
            .pushToken(PushTokenStart(token)),
        ]
    }
}

/// The reason why a ``FirebaseSender`` could not be created.
public struct FirebaseSenderError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence about the error.
    public let description: String
}
