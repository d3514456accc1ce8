import CallCore
import CallPorts
import Crypto
package import OutboundHTTP
package import ServerLog

extension WebPushConfiguration: PushConfiguration {
    /// The words of the log.
    package static let words = PushWords(
        messages: "Web Push messages",
        sent: "a push is sent to a browser's push service",
        responded: "a browser's push service responded",
        onlyLogged: "no VAPID subject is configured: a push was not sent"
    )

    /// The settings of the client.
    package var client: HTTPClientConfiguration {
        var http = HTTPClientConfiguration(.browsers, threadName: "web-push")
        http.caFile = caFile
        return http
    }

    /// Creates what makes requests to the push services of browsers.
    package func makeProvider(_ pushes: PushesUnderWay, _ log: ServerLog) -> any PushProvider {
        WebPushProvider(self, pushes)
    }
}

/// The push services of browsers.
///
/// Each message is encrypted for its browser. A message goes only to a host that the configuration allows, over `https`,
/// and not to an address of a private network unless the operator has named the host with its port; no redirect is
/// followed.
///
/// Source: RFC 8030, RFC 8291, RFC 8292; protocol, section 6.10.
final class WebPushProvider: PushProvider {
    private let configuration: WebPushConfiguration
    private let tokens: VAPIDTokens
    private let pushes: PushesUnderWay
    /// The origins that no user has named.
    private let knownOrigins: Set<String>

    init(_ configuration: WebPushConfiguration, _ pushes: PushesUnderWay) {
        self.configuration = configuration
        self.pushes = pushes
        knownOrigins = Set(configuration.hosts.origins)
        tokens = VAPIDTokens(configuration)
    }

    func send(_ push: OutgoingPush) {
        guard case .web(let subscription) = push.route else {
            preconditionFailure("a push to another service was handed to Web Push")
        }
        let endpoint: WebPushEndpoint
        do throws(WebPushEndpoint.Fault) {
            endpoint = try configuration.hosts.endpoint(subscription.endpoint)
        } catch { return pushes.finish(push, .impossible(.hostNotAllowed)) }
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
        request.expectStatus()
        request.addresses = configuration.hosts.mayBePrivate(endpoint) ? .all : .publicOnly
        request.user = push.user?.text
        request.isToKnownHost = knownOrigins.contains(endpoint.origin)
        return request
    }
}
