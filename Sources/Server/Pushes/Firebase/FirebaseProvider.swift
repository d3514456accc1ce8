import CallCore
import CallPorts
package import OutboundHTTP
package import ServerLog
import Threads

extension FirebaseConfiguration: PushConfiguration {
    /// The words of the log.
    package static let words = PushWords(
        messages: "Firebase messages",
        sent: "a push is sent to Firebase",
        responded: "Firebase responded to a push",
        onlyLogged: "no Firebase service account is configured: a push was not sent"
    )
    /// Its share of the connections: Firebase, and the endpoint of its access tokens.
    static let share = ConnectionShare(hosts: 2)

    /// The settings of the client.
    package var client: HTTPClientConfiguration {
        var http = HTTPClientConfiguration(Self.share, threadName: "firebase")
        http.caFile = caFile
        return http
    }

    /// Creates what makes requests to Firebase.
    package func makeProvider(_ pushes: PushesUnderWay, _ log: ServerLog) -> any PushProvider {
        FirebaseProvider(self, pushes, log)
    }
}

/// Firebase Cloud Messaging's HTTP v1 API, for Android devices.
///
/// If Google refuses the access token, another one is fetched and the message sent once more. If two tokens in a row are
/// refused for several devices, none is fetched for a while, and the pushes are deferred. If a token is refused for one
/// device alone, only that device's push fails.
///
/// Source: "Method: projects.messages.send", Firebase; protocol, section 6.9.
final class FirebaseProvider: PushProvider {
    private let configuration: Monitor<FirebaseConfiguration>
    private let tokens: AccessTokens
    private let log: ServerLog
    private let pushes: PushesUnderWay

    init(_ configuration: FirebaseConfiguration, _ pushes: PushesUnderWay, _ log: ServerLog) {
        self.configuration = Monitor(configuration)
        self.log = log
        self.pushes = pushes
        tokens = AccessTokens(configuration, pushes.client)
    }

    func send(_ push: OutgoingPush) {
        guard push.route.kind == .firebase else {
            preconditionFailure("a push to another service was handed to Firebase")
        }
        sendPush(push, isSecond: false)
    }

    /// Forgets a push that waits for an access token.
    func forget(_ id: PushID) -> Bool { tokens.forget(id) }

    func use(_ configuration: any PushConfiguration) {
        guard let configuration = configuration as? FirebaseConfiguration else { return }
        self.configuration.withLock { $0 = configuration }
        tokens.use(configuration)
    }

    private func sendPush(_ push: OutgoingPush, isSecond: Bool) {
        tokens.useToken(for: push.id, isPatient: !push.hasOtherRoute) { [self] outcome in
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
                sendPush(push, isSecond: true)
            case .wasReplaced where !isSecond, .messageIsAtFault where !isSecond: sendPush(push, isSecond: true)
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
        request.expectStatus()
        return request
    }
}
