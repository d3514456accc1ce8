import CallCore
import OutboundHTTP
import Threads

/// Posts signed requests to the app's backend: what the senders of events and of questions share.
///
/// Each request is signed as Standard Webhooks demands. Connections stay open, over HTTP/2 or HTTP/1.1. No redirect is
/// followed. Plain `http` goes only to addresses of this machine and of private networks.
final class BackendClient: Sendable {
    private let configuration: BackendConfiguration
    private let secrets: Monitor<WebhookSecrets>
    private let client: HTTPClient

    /// Creates a client; its connections are made with the first requests.
    init(_ configuration: BackendConfiguration, _ client: HTTPClientConfiguration) throws(HTTPClientError) {
        self.configuration = configuration
        secrets = Monitor(configuration.secrets)
        self.client = try HTTPClient(client)
    }

    /// The wall clock, in milliseconds since 1970.
    var wall: Int64 { configuration.clock() }

    /// Posts JSON, and passes the outcome to a closure exactly once: on the client's thread, or within this method.
    ///
    /// - Parameters:
    ///   - body: The JSON.
    ///   - id: The value of `webhook-id`.
    ///   - url: The address.
    ///   - timeout: How long the backend has to respond.
    ///   - prepare: Says what is read of the response.
    ///   - completion: Takes the outcome; it must only pass it on.
    func post(
        _ body: [UInt8],
        id: String,
        to url: String,
        timeout: Moment.Duration,
        prepare: (inout HTTPRequest) -> Void,
        completion: @escaping @Sendable (HTTPClient.Outcome) -> Void
    ) {
        let timestamp = configuration.clock() / 1_000
        let signatures = WebhookSignature.header(
            id: id,
            timestamp: timestamp,
            body: body,
            secrets.withLock { $0 }
        )
        var request = HTTPRequest(
            method: "POST",
            url: url,
            headers: [
                HTTPHeader(WebhookSignature.Header.id, id),
                HTTPHeader(WebhookSignature.Header.timestamp, "\(timestamp)"),
                HTTPHeader(WebhookSignature.Header.signature, signatures),
                HTTPHeader("content-type", "application/json"),
                HTTPHeader("user-agent", configuration.userAgent),
            ],
            body: body,
            timeoutMilliseconds: timeout.milliseconds
        )
        prepare(&request)
        request.isToKnownHost = true
        request.addresses = url.hasPrefix("https://") ? .all : .ownNetworkOnly
        client.send(request, completion: completion)
    }

    /// Signs with these secrets from now on; call this method from any thread.
    func use(_ secrets: WebhookSecrets) { self.secrets.withLock { $0 = secrets } }

    /// The numbers of its requests and hosts.
    var figures: HTTPClientFigures { client.figures }

    /// Runs a closure on the client's thread, where it must not block; from any thread.
    func onLoop(_ body: @escaping @Sendable () -> Void) { client.call(afterMilliseconds: 0, body) }

    /// Shuts the client down, and blocks until that is done; requests under way have this long to finish.
    func shutdown(limitMilliseconds: Int64) { client.shutdown(limitMilliseconds: limitMilliseconds) }
}
