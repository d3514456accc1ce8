import CallCore
import CallPorts
package import OutboundHTTP
package import ServerLog

extension APNsConfiguration: PushConfiguration {
    /// The words of the log.
    package static let words = PushWords(
        messages: "Pushes",
        sent: "a push is sent to APNs",
        responded: "APNs responded to a push",
        onlyLogged: "no APNs key is configured: a push was not sent"
    )
    /// Its share of the connections: Apple has two services.
    static let share = ConnectionShare(hosts: 2)

    /// The settings of the client.
    package var client: HTTPClientConfiguration {
        var http = HTTPClientConfiguration(Self.share, threadName: "apns")
        http.caFile = caFile
        http.usesProxyFromEnvironment = usesProxyFromEnvironment
        // Apple grants a new connection one stream until it has shown a valid provider token.
        http.firstAloneMilliseconds = 1_000
        return http
    }

    /// Creates what makes requests to APNs.
    package func makeProvider(_ pushes: PushesUnderWay, _ log: ServerLog) -> any PushProvider {
        APNsProvider(self, pushes, log)
    }
}

/// Apple's HTTP/2 API: `POST /3/device/<token>`.
///
/// It handles `ExpiredProviderToken` itself: it renews the provider token and sends the push once more. Every other
/// response is reported unchanged. The push is sent again under the same `apns-id`.
///
/// Source: Apple, "Sending notification requests to APNs"; protocol, section 6.
final class APNsProvider: PushProvider {
    private let configuration: APNsConfiguration
    private let providerToken: ProviderToken
    private let log: ServerLog
    private let pushes: PushesUnderWay

    init(_ configuration: APNsConfiguration, _ pushes: PushesUnderWay, _ log: ServerLog) {
        self.configuration = configuration
        self.pushes = pushes
        self.log = log
        providerToken = ProviderToken(configuration)
    }

    func send(_ push: OutgoingPush) {
        guard case .apns(let route) = push.route else {
            preconditionFailure("a push to another service was handed to APNs")
        }
        guard Self.isDeviceToken(route.token) else {
            // The text would become part of the URL's path. Apple would refuse the push with the same reason.
            return pushes.finish(push, .response(status: 400, reason: "BadDeviceToken", timestamp: nil))
        }
        do {
            post(push, by: route, providerToken: try providerToken.current(), isSecond: false)
        } catch {
            pushes.finish(push, .notSent("the provider token could not be signed"))
        }
    }

    func use(_ configuration: any PushConfiguration) {
        if let configuration = configuration as? APNsConfiguration { providerToken.use(configuration.signer) }
    }

    // MARK: One request

    private func post(_ push: OutgoingPush, by route: APNsRoute, providerToken: String, isSecond: Bool) {
        pushes.post(push, request(for: push, by: route, providerToken: providerToken)) { [self] response in
            let result = APNsResponse.result(of: response)
            if !isSecond, case .response(403, reason: "ExpiredProviderToken", _) = result,
                repost(push, by: route, insteadOf: providerToken)
            {
                return
            }
            pushes.finish(push, result)
        }
    }

    /// Sends the push again under a new provider token, unless it was cancelled; returns false if there is no newer
    /// token.
    private func repost(_ push: OutgoingPush, by route: APNsRoute, insteadOf refused: String) -> Bool {
        do {
            guard let token = try providerToken.renewed(insteadOf: refused) else {
                log.error("APNs rejects a fresh provider token as expired; check this machine's clock")
                return false
            }
            log.notice("APNs rejected the provider token as expired; it was renewed")
            post(push, by: route, providerToken: token, isSecond: true)
            return true
        } catch {
            log.error("the provider token could not be signed", [.error(UntrustedText("\(error)"))])
            return false
        }
    }

    private func request(for push: OutgoingPush, by route: APNsRoute, providerToken: String) -> HTTPRequest {
        let endpoint =
            route.environment == .sandbox ? configuration.endpoints.sandbox : configuration.endpoints.production
        let left = push.expiresAt.milliseconds - configuration.expiryClock()
        var request = HTTPRequest(
            method: "POST",
            url: endpoint + "/3/device/" + route.token,
            headers: [
                HTTPHeader("apns-topic", route.topic),
                HTTPHeader("apns-push-type", route.pushType.rawValue),
                HTTPHeader("apns-priority", "10"),
                HTTPHeader("apns-expiration", expiration(of: push, left: left)),
                HTTPHeader("apns-id", push.uuid),
                HTTPHeader("authorization", "bearer " + providerToken),
            ],
            body: push.payload,
            // A notice can be sent again as long as it is useful; one that replaces another loses nothing.
            timeoutMilliseconds: push.kept == .aDay ? min(left, PushesUnderWay.responseMilliseconds) : left
        )
        if let collapseID = push.collapseID { request.headers.append(HTTPHeader("apns-collapse-id", collapseID)) }
        request.requiresHTTP2 = true
        request.bodyLimit = 16 << 10
        request.needsBody = false
        return request
    }

    /// Returns the value of `apns-expiration`, in seconds since 1970; 0 = the push is not kept.
    ///
    /// `left`: The milliseconds until the push expires.
    private func expiration(of push: OutgoingPush, left: Int64) -> String {
        switch push.kept {
        case .never: "0"
        // At least one second from now: APNs keeps no push whose expiration is past.
        case .untilExpiry: "\((configuration.clock() + max(1_000, left)) / 1_000)"
        case .aDay: "\(configuration.clock() / 1_000 + OutgoingPush.Kept.noticeSeconds)"
        }
    }

    private static func isDeviceToken(_ text: String) -> Bool {
        (2...200).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
