import CallCore
package import CallPorts
package import OutboundHTTP
package import ServerLog

/// The settings for requests to the app's backend.
package struct BackendConfiguration: Sendable {
    /// The secrets that sign.
    var secrets: WebhookSecrets
    /// The value of the header `user-agent`.
    let userAgent: String
    /// The wall clock, in milliseconds since 1970: receivers compare the time of a delivery with theirs.
    let clock: @Sendable () -> Int64
    /// A PEM file of the certificate authorities to trust instead of the system's; nil means the system's.
    package var caFile: String?
    /// How long an endpoint has to respond.
    var timeout = EventRequest.timeout
    /// Whether the environment may name a proxy for `https`.
    var usesProxyFromEnvironment = true

    /// The settings of a server of this version.
    package init(secrets: WebhookSecrets, version: String, clock: @escaping @Sendable () -> Int64) {
        self.secrets = secrets
        userAgent = "ringline/\(version)"
        self.clock = clock
    }

    /// The settings of the client.
    var client: HTTPClientConfiguration {
        var http = HTTPClientConfiguration(.backend, threadName: "backend")
        http.caFile = caFile
        http.usesProxyFromEnvironment = usesProxyFromEnvironment
        // A connection of HTTP/1.1 carries one request, and all endpoints may be on one host: 8 requests to each of 4.
        http.connectionsPerHost = 32
        return http
    }

    /// The settings of the client for questions about calls.
    var clientForQuestions: HTTPClientConfiguration {
        var http = HTTPClientConfiguration(.decisions, threadName: "decider")
        http.caFile = caFile
        http.usesProxyFromEnvironment = usesProxyFromEnvironment
        // A connection of HTTP/1.1 carries one question, and a caller waits for each.
        http.connectionsPerHost = 64
        return http
    }
}

/// The sender of events to the app's backend: the adapter of `EventSender`.
///
/// Each event is signed as Standard Webhooks demands, and of a response only the status and `retry-after` count. The
/// caller decides whether and when to send an event again.
package final class BackendEventSender: EventSender {
    private let configuration: BackendConfiguration
    private let client: BackendClient
    private let log: ServerLog
    private let report: @Sendable (DeliveryID, DeliveryResult) -> Void

    /// Creates a sender; its connections are made with the first events.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - log: the log; it gets no address and no content.
    ///   - report: called exactly once for each delivery, on the sender's thread or within ``send(_:)``. The closure must
    ///     only pass the result on, such as to the event loop.
    /// - Throws: `HTTPClientError` when libcurl is unusable or the system refuses a thread.
    package init(
        _ configuration: BackendConfiguration,
        log: ServerLog,
        report: @escaping @Sendable (DeliveryID, DeliveryResult) -> Void
    ) throws(HTTPClientError) {
        self.configuration = configuration
        client = try BackendClient(configuration, configuration.client)
        self.log = log
        self.report = report
    }

    /// Posts an event to an endpoint; its result is reported, even if it could not be posted at all.
    package func send(_ event: EventRequest) {
        log.debug("an event is sent to the app's backend", [.appEvent(ServerText(event.eventID))])
        client.post(
            event.body,
            id: event.eventID,
            to: event.url,
            timeout: configuration.timeout,
            prepare: { $0.expectStatus() }
        ) { [client, log, report] outcome in
            let result = Self.result(of: outcome, wall: client.wall)
            let name = LogField.appEvent(ServerText(event.eventID))
            switch result {
            case .response(let status, _):
                log.debug("the app's backend responded to an event", [name, .responseStatus(status)])
            case .unreachable(let why):
                log.debug("an event got no response from the app's backend", [name, .error(UntrustedText(why))])
            }
            report(event.id, result)
        }
    }

    private static func result(of outcome: HTTPClient.Outcome, wall: Int64) -> DeliveryResult {
        switch outcome {
        case .success(let response):
            let after = response.retryAfterSeconds(wall: wall)
            return .response(status: response.status, retryAfter: after.map { Moment.Duration.seconds($0) })
        case .failure(let failure): return .unreachable(failure.description)
        }
    }

    /// Signs with these secrets from now on; call this method from any thread.
    package func use(_ secrets: WebhookSecrets) { client.use(secrets) }

    /// The numbers of its requests and hosts.
    package var figures: HTTPClientFigures { client.figures }

    /// Runs a closure on the loop of the sender's client, where it must not block; from any thread.
    package func onLoop(_ body: @escaping @Sendable () -> Void) { client.onLoop(body) }

    /// Shuts the sender down, and blocks until that is done.
    ///
    /// Deliveries under way have this long to finish; the rest is reported as unreachable, and so are later ones.
    package func shutdown(limitMilliseconds: Int64 = 2_000) { client.shutdown(limitMilliseconds: limitMilliseconds) }
}
