import CallCore
package import CallPorts
import Crypto
package import OutboundHTTP
package import ServerLog
import Threads

/// A sender of pushes through Firebase Cloud Messaging's HTTP v1 API: the adapter of `PushSender` for Android devices.
///
/// If Google refuses the access token, the sender fetches another one and sends the message once more. If two tokens
/// in a row are refused for several devices, it fetches none for a while, and defers the pushes. If a token is refused
/// for one device alone, only that device's push fails. Every other response is reported, and if none comes, the push
/// is reported as unreachable. The caller decides whether and when to send the push again. ``send(_:)`` and
/// ``cancel(_:)`` do not block.
///
/// Source: "Method: projects.messages.send", Firebase; protocol, section 6.9.
package final class FirebaseSender: PushSender {
    private let configuration: Monitor<FirebaseConfiguration>
    private let tokens: AccessTokens
    private let client: HTTPClient
    private let log: ServerLog
    private let pushes: PushesUnderWay

    /// Creates a sender; its connections are made with the first pushes.
    ///
    /// - Parameters:
    ///   - configuration: the account and the endpoint.
    ///   - log: the log for the sender's actions; push tokens are cut to their first six characters.
    ///   - report: called exactly once for each push, on the sender's thread or within ``send(_:)`` or ``cancel(_:)``.
    ///     The closure must only pass the result on, such as to the event loop.
    /// - Throws: ``FirebaseSenderError`` when libcurl is unusable or the system refuses a thread.
    package init(
        _ configuration: FirebaseConfiguration,
        log: ServerLog,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(FirebaseSenderError) {
        var http = HTTPClientConfiguration(.firebase, threadName: "firebase")
        http.caFile = configuration.caFile
        do {
            client = try HTTPClient(http)
        } catch {
            throw FirebaseSenderError(description: "Firebase messages cannot be sent: \(error)")
        }
        self.configuration = Monitor(configuration)
        self.log = log
        pushes = PushesUnderWay(
            client,
            .init(sent: "a push is sent to Firebase", responded: "Firebase responded to a push"),
            log: log,
            report: report
        )
        tokens = AccessTokens(configuration, client)
    }

    /// Sends one push; its result is reported, even if the push could not be sent at all.
    package func send(_ push: OutgoingPush) {
        guard case .firebase = push.route else {
            preconditionFailure("a push to another service was handed to Firebase")
        }
        pushes.begin(push)
        send(push, isSecond: false)
    }

    /// Cancels a push that waits for an access token, or has not been sent on a connection yet.
    ///
    /// A push that was sent continues until Google responds, and is not sent a second time.
    package func cancel(_ id: PushID) { pushes.cancel(id, waits: tokens.forget(id)) }

    /// Sends in the name of this configuration's account from now on.
    ///
    /// Call this method from any thread.
    package func use(_ configuration: FirebaseConfiguration) {
        self.configuration.withLock { $0 = configuration }
        tokens.use(configuration)
    }

    /// The numbers of its requests and hosts.
    package var figures: HTTPClientFigures { client.figures }

    /// Runs a closure on the loop of the sender's client, where it must not block; from any thread.
    package func onLoop(_ body: @escaping @Sendable () -> Void) { client.call(afterMilliseconds: 0, body) }

    /// Shuts the sender down, and blocks until that is done.
    ///
    /// Pushes under way have this long to finish; the rest is reported as unreachable.
    package func shutdown(limitMilliseconds: Int64 = 2_000) { client.shutdown(limitMilliseconds: limitMilliseconds) }

    // MARK: One request

    private func send(_ push: OutgoingPush, isSecond: Bool) {
        tokens.take(for: push.id, isPatient: !push.hasOtherRoute) { [self] outcome in
            switch outcome {
            case .success(let token): post(push, token, isSecond: isSecond)
            case .failure(let failure): finish(push, failure)
            }
        }
    }

    /// Reports a push that got no token, or a refused one.
    ///
    /// A device with another route does not wait for a later token.
    private func finish(_ push: OutgoingPush, _ failure: AccessTokens.Failure) {
        guard push.hasOtherRoute, case .deferred(401, let reason, _) = failure.result else {
            return pushes.finish(push, failure.result)
        }
        pushes.finish(push, .response(status: 401, reason: reason, timestamp: nil))
    }

    private func post(_ push: OutgoingPush, _ accessToken: AccessTokens.AccessToken, isSecond: Bool) {
        let configuration = configuration.withLock { $0 }
        pushes.post(push, Self.request(for: push, accessToken, configuration)) { [self] response in
            let now = Moment(milliseconds: configuration.expiryClock())
            let result = FirebaseResponse.result(of: response, at: now, wall: configuration.clock())
            guard case .response(401, let reason, _) = result, reason != FirebaseReason.thirdPartyAuthError else {
                // A fault of Google's server may have come before it looked at the token.
                if !PushResponse.isPassing(response.status) { tokens.accepted(accessToken.text) }
                return pushes.finish(push, result)
            }
            switch tokens.refused(accessToken.text, for: push.route.token, reason) {
            case .failed(let failure): finish(push, failure)
            case .replaced where !isSecond:
                log.notice("Google rejected the access token; another one is fetched")
                send(push, isSecond: true)
            case .wasReplaced where !isSecond, .messageIsAtFault where !isSecond: send(push, isSecond: true)
            case .messageIsAtFault:
                pushes.finish(push, .response(status: 401, reason: FirebaseReason.refusedForDevice, timestamp: nil))
            case .replaced, .wasReplaced: pushes.finish(push, result)
            }
        }
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
            timeoutMilliseconds: min(left, PushesUnderWay.responseMilliseconds)
        )
        request.expectPushResponse()
        return request
    }
}

/// The reason why a ``FirebaseSender`` could not be created.
package struct FirebaseSenderError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence about the error.
    package let description: String
}
