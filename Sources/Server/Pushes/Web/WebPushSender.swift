import CallCore
package import CallPorts
import Crypto
package import OutboundHTTP
package import ServerLog

/// A sender of Web Push messages: the adapter of `PushSender` for browsers.
///
/// Each message is encrypted for its browser. A message goes only to a host that the configuration allows, over `https`,
/// and not to an address of a private network unless the operator has named the host with its port; no redirect is
/// followed. Every response is reported, and if no response comes, the push is reported as unreachable. The caller decides
/// whether and when to send the push again. ``send(_:)`` and ``cancel(_:)`` do not block.
///
/// Source: RFC 8030, RFC 8291, RFC 8292; protocol, section 6.10.
package final class WebPushSender: PushSender {
    private let configuration: WebPushConfiguration
    private let tokens: VAPIDTokens
    private let client: HTTPClient
    private let pushes: PushesUnderWay
    /// The origins that no user has named.
    private let knownOrigins: Set<String>

    /// Creates a sender; its connections are made with the first pushes.
    ///
    /// - Parameters:
    ///   - configuration: the key and the hosts.
    ///   - log: the log for the sender's actions; it gets no endpoint.
    ///   - report: called exactly once for each push, on the sender's thread or within ``send(_:)``. The closure must
    ///     only pass the result on, such as to the event loop.
    /// - Throws: ``WebPushSenderError`` when libcurl is unusable or the system refuses a thread.
    package init(
        _ configuration: WebPushConfiguration,
        log: ServerLog,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(WebPushSenderError) {
        var http = HTTPClientConfiguration(.browsers, threadName: "web-push")
        http.caFile = configuration.caFile
        do {
            client = try HTTPClient(http)
        } catch {
            throw WebPushSenderError(description: "Web Push messages cannot be sent: \(error)")
        }
        self.configuration = configuration
        knownOrigins = Set(configuration.hosts.origins)
        pushes = PushesUnderWay(
            client,
            .init(sent: "a push is sent to a browser's push service", responded: "a browser's push service responded"),
            log: log,
            report: report
        )
        tokens = VAPIDTokens(configuration)
    }

    /// Sends one push; its result is reported, even if the push could not be sent at all.
    package func send(_ push: OutgoingPush) {
        guard case .web(let subscription) = push.route else {
            preconditionFailure("a push to another service was handed to Web Push")
        }
        pushes.begin(push)
        // The list of hosts may have been shorter when the browser was registered.
        guard let endpoint = WebPushEndpoint(subscription.endpoint), configuration.hosts.allows(endpoint) else {
            return pushes.finish(push, .impossible(.hostNotAllowed))
        }
        let authorization: String
        do { authorization = try tokens.authorization(for: endpoint.origin) } catch {
            return pushes.finish(push, .notSent("the VAPID token could not be signed"))
        }
        let request: HTTPRequest
        do { request = try self.request(for: push, to: endpoint, subscription, authorization) } catch {
            return pushes.finish(push, .impossible(.unusableKeys))
        }
        pushes.post(push, request) { [self] response in
            let now = Moment(milliseconds: configuration.expiryClock())
            pushes.finish(push, WebPushResponse.result(of: response, at: now, wall: configuration.clock()))
        }
    }

    /// Cancels a push that has not been sent on a connection yet.
    package func cancel(_ id: PushID) { pushes.cancel(id) }

    /// The numbers of its requests and hosts.
    package var figures: HTTPClientFigures { client.figures }

    /// Runs a closure on the loop of the sender's client, where it must not block; from any thread.
    package func onLoop(_ body: @escaping @Sendable () -> Void) { client.call(afterMilliseconds: 0, body) }

    /// Shuts the sender down, and blocks until that is done.
    ///
    /// Pushes under way have this long to finish; the rest is reported as unreachable.
    package func shutdown(limitMilliseconds: Int64 = 2_000) { client.shutdown(limitMilliseconds: limitMilliseconds) }

    /// Returns the topic of a call's messages to a browser: 32 characters, as many as RFC 8030, section 5.4, allows.
    ///
    /// Its key is the secret that the browser shares with this server, so that the push service cannot find out by guessing
    /// which call it is.
    static func topic(of collapseID: String, _ subscription: WebPushSubscription) -> String {
        let code = HMACSHA256.code(of: Array(collapseID.utf8), key: Array(subscription.auth.utf8))
        return Base64URL.encode(Array(code.prefix(24)))
    }

    private func request(
        for push: OutgoingPush,
        to endpoint: WebPushEndpoint,
        _ subscription: WebPushSubscription,
        _ authorization: String
    ) throws(KeyError) -> HTTPRequest {
        let left = push.expiresAt.milliseconds - configuration.expiryClock()
        var request = HTTPRequest(
            method: "POST",
            url: subscription.endpoint,
            headers: [
                HTTPHeader("ttl", "\(push.secondsKept(left: left))"),
                HTTPHeader("urgency", "high"),
                HTTPHeader("content-encoding", "aes128gcm"),
                HTTPHeader("content-type", "application/octet-stream"),
                HTTPHeader("authorization", authorization),
            ],
            body: try MessageEncryption.encrypt(
                push.payload,
                for: subscription,
                salt: SecureRandom.bytes(16),
                key: .generate()
            ),
            timeoutMilliseconds: min(left, PushesUnderWay.responseMilliseconds)
        )
        if let collapseID = push.collapseID {
            request.headers.append(HTTPHeader("topic", Self.topic(of: collapseID, subscription)))
        }
        request.expectPushResponse()
        request.refusesPrivateAddresses = !configuration.hosts.mayBePrivate(endpoint)
        request.user = push.user?.text
        request.isToKnownHost = knownOrigins.contains(endpoint.origin)
        return request
    }
}

/// The reason why a ``WebPushSender`` could not be created.
package struct WebPushSenderError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence about the error.
    package let description: String
}
