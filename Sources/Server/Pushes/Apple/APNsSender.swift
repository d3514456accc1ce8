import CallCore
package import CallPorts
import Crypto
package import OutboundHTTP
package import ServerLog

/// A sender of pushes through Apple's HTTP/2 API: the adapter of `PushSender` for iOS devices.
///
/// It sends `POST /3/device/<token>` over a few lasting connections to each service. It handles `ExpiredProviderToken`
/// itself: it renews the provider token and sends the push once more. Every other response is reported unchanged, and
/// if no response comes, the push is reported as unreachable. The caller decides whether and when to send the push
/// again, under the same `apns-id`. ``send(_:)`` and ``cancel(_:)`` do not block, not even when Apple does not respond.
///
/// Source: Apple, "Sending notification requests to APNs"; protocol, section 6.
package final class APNsSender: PushSender {
    private let configuration: APNsConfiguration
    private let providerToken: ProviderToken
    private let client: HTTPClient
    private let log: ServerLog
    private let pushes: PushesUnderWay

    /// Creates a sender; its connections are made with the first pushes.
    ///
    /// - Parameters:
    ///   - configuration: key, ids and endpoints.
    ///   - log: the log for the sender's actions; push tokens are cut to their first six characters.
    ///   - report: called exactly once for each push, on the sender's thread or within ``send(_:)``. The closure must
    ///     only pass the result on, such as to the event loop.
    /// - Throws: ``APNsSenderError`` when libcurl is unusable or the system refuses a thread.
    package init(
        _ configuration: APNsConfiguration,
        log: ServerLog,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(APNsSenderError) {
        var http = HTTPClientConfiguration(.apns, threadName: "apns")
        http.caFile = configuration.caFile
        http.usesProxyFromEnvironment = configuration.usesProxyFromEnvironment
        // Apple grants a new connection one stream until it has shown a valid provider token.
        http.firstAloneMilliseconds = 1_000
        do {
            client = try HTTPClient(http)
        } catch {
            throw APNsSenderError(description: "Pushes cannot be sent: \(error)")
        }
        self.configuration = configuration
        self.log = log
        pushes = PushesUnderWay(
            client,
            .init(sent: "a push is sent to APNs", responded: "APNs responded to a push"),
            log: log,
            report: report
        )
        providerToken = ProviderToken(configuration)
    }

    /// Sends one push; its result is reported, even if the push could not be sent at all.
    package func send(_ push: OutgoingPush) {
        guard case .apns(let route) = push.route else {
            preconditionFailure("a push to another service was handed to APNs")
        }
        pushes.begin(push)
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

    /// Cancels a push that has not been sent on a connection yet.
    ///
    /// A push that was sent continues until Apple responds, and is not sent a second time.
    package func cancel(_ id: PushID) { pushes.cancel(id) }

    /// Signs with this configuration's key from now on; all other settings stay as they are.
    ///
    /// Call this method from any thread.
    package func use(_ configuration: APNsConfiguration) { providerToken.use(configuration.signer) }

    /// The numbers of its requests and hosts.
    package var figures: HTTPClientFigures { client.figures }

    /// Runs a closure on the loop of the sender's client, where it must not block; from any thread.
    package func onLoop(_ body: @escaping @Sendable () -> Void) { client.call(afterMilliseconds: 0, body) }

    /// Shuts the sender down, and blocks until that is done.
    ///
    /// Pushes under way have this long to finish; the rest is reported as unreachable. Then the connections are closed.
    /// Later pushes are reported as unreachable.
    package func shutdown(limitMilliseconds: Int64 = 2_000) { client.shutdown(limitMilliseconds: limitMilliseconds) }

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

/// The reason why an ``APNsSender`` could not be created.
package struct APNsSenderError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence about the error.
    package let description: String
}
