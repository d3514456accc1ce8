import CallCore
public import CallPorts
import Crypto
public import Logging
import OutboundHTTP
import Threads

/// A sender of pushes through Apple's HTTP/2 API: the adapter of `PushSender` for iOS devices.
///
/// It sends `POST /3/device/<token>` over a few lasting connections to each service. It handles `ExpiredProviderToken`
/// itself: it renews the token and sends the push once more. Every other answer is reported unchanged, and every
/// failure to get an answer is reported as unreachable. The caller decides when to wait and send again, under the same
/// `apns-id`. ``send(_:)`` and ``cancel(_:)`` do not block, not even when Apple does not answer.
///
/// Source: Apple, "Sending notification requests to APNs"; protocol, section 6.
public final class APNsSender: PushSender {
    /// The lifetime that an alert's `apns-expiration` adds to the current time: a missed call is worth knowing for a
    /// day.
    static let alertLifeSeconds: Int64 = 24 * 60 * 60

    private let configuration: APNsConfiguration
    private let providerToken: ProviderToken
    private let client: HTTPClient
    private let report: @Sendable (PushID, PushResult) -> Void
    private let log: Logger
    /// The orders under way and their HTTP requests, for ``cancel(_:)``.
    private let requests = Locked<[PushID: HTTPRequestID?]>([:])

    /// Creates a sender; its connections are made with the first pushes.
    ///
    /// - Parameters:
    ///   - configuration: key, ids and endpoints.
    ///   - log: where it logs its actions; device tokens are cut to their first six characters.
    ///   - report: called exactly once for each order, on a thread of the sender's or within ``send(_:)``; it must only
    ///     pass the result on, such as to the event loop.
    /// - Throws: ``APNsSenderError`` when libcurl is unusable or the system refuses a thread.
    public init(
        _ configuration: APNsConfiguration,
        log: Logger,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(APNsSenderError) {
        var http = HTTPClientConfiguration()
        http.caFile = configuration.caFile
        http.usesProxyFromEnvironment = configuration.usesProxyFromEnvironment
        // Apple grants a new connection one stream until it has shown a valid provider token.
        http.firstAloneMilliseconds = 1_000
        http.threadName = "apns"
        do {
            client = try HTTPClient(http)
        } catch {
            throw APNsSenderError(description: "Pushes cannot be sent: \(error)")
        }
        self.configuration = configuration
        self.log = log
        self.report = report
        providerToken = ProviderToken(configuration)
    }

    /// Sends one push; its result is reported, even if it could not be sent at all.
    public func send(_ order: PushOrder) {
        let isNew = requests.withLock { $0.updateValue(.none, forKey: order.id) == nil }
        precondition(isNew, "a push was ordered twice under one id")
        guard Self.isDeviceToken(order.token) else {
            // The text would become part of a path. Apple would give the same answer.
            return finish(order, .answered(status: 400, reason: "BadDeviceToken", timestamp: nil))
        }
        do {
            post(order, providerToken: try providerToken.current(), mayRenew: true)
        } catch {
            finish(order, .unreachable("the provider token could not be signed"))
        }
    }

    /// Cancels a push that has not been sent on a connection yet; one that was sent continues until it is answered.
    public func cancel(_ id: PushID) {
        guard let request = requests.withLock({ $0[id] }), let request else { return }
        client.cancel(request, onlyIfUnsent: true)
    }

    /// Signs with this configuration's key from now on; all other settings stay as they are.
    ///
    /// It may be called from any thread.
    public func use(_ configuration: APNsConfiguration) { providerToken.use(configuration.signer) }

    /// Shuts the sender down, and blocks until that is done.
    ///
    /// Pushes under way may finish for at most this long, the rest is reported as unreachable, and the connections are
    /// closed. Later orders are reported as unreachable.
    public func shutdown(limitMilliseconds: Int64 = 2_000) { client.shutdown(limitMilliseconds: limitMilliseconds) }

    // MARK: One request

    private func post(_ order: PushOrder, providerToken: String, mayRenew: Bool) {
        let id = client.send(request(for: order, providerToken: providerToken)) { [self] outcome in
            switch outcome {
            case .success(let response):
                let result = APNsAnswer.result(of: response)
                if mayRenew, case .answered(403, reason: "ExpiredProviderToken", _) = result,
                    repost(order, insteadOf: providerToken)
                {
                    return
                }
                finish(order, result)
            case .failure(.cancelled): finish(order, .cancelled)
            case .failure(let failure): finish(order, .unreachable(failure.description))
            }
        }
        // The request may be answered already; then it is no longer in the table.
        requests.withLock { requests in
            if requests[order.id] != nil { requests[order.id] = .some(id) }
        }
    }

    /// Sends the push again under a new provider token; returns false if there is no newer token.
    private func repost(_ order: PushOrder, insteadOf refused: String) -> Bool {
        do {
            guard let token = try providerToken.renewed(insteadOf: refused) else {
                log.error("APNs calls a fresh provider token expired; is this machine's clock right?")
                return false
            }
            log.notice("APNs called the provider token expired; it was renewed")
            post(order, providerToken: token, mayRenew: false)
            return true
        } catch {
            log.error("the provider token could not be signed", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func request(for order: PushOrder, providerToken: String) -> HTTPRequest {
        let endpoint =
            order.environment == .sandbox ? configuration.endpoints.sandbox : configuration.endpoints.production
        let alertExpiry = configuration.clock() / 1_000 + Self.alertLifeSeconds
        var request = HTTPRequest(
            method: "POST",
            url: endpoint + "/3/device/" + order.token,
            headers: [
                HTTPHeader("apns-topic", order.topic),
                HTTPHeader("apns-push-type", order.kind.rawValue),
                HTTPHeader("apns-priority", "10"),
                // A call rings now or not at all; an alert may wait until the device is reachable again.
                HTTPHeader("apns-expiration", order.kind == .voip ? "0" : "\(alertExpiry)"),
                HTTPHeader("apns-id", order.apnsID),
                HTTPHeader("authorization", "bearer " + providerToken),
            ],
            body: order.payload,
            timeoutMilliseconds: order.giveUpAt.milliseconds - configuration.orderClock()
        )
        request.requiresHTTP2 = true
        request.bodyLimit = 16 << 10
        return request
    }

    private func finish(_ order: PushOrder, _ result: PushResult) {
        requests.withLock { requests in _ = requests.removeValue(forKey: order.id) }
        var metadata: Logger.Metadata = [
            "push.id": "\(order.id.rawValue)", "device.token": "\(order.token.prefix(6))…",
            "apns.environment": "\(order.environment.rawValue)",
        ]
        if let call = order.call { metadata["call.id"] = "\(call.text)" }
        if let device = order.device { metadata["device.id"] = "\(device.text)" }
        switch result {
        case .answered(let status, let reason, _):
            metadata["apns.status"] = "\(status)"
            metadata["apns.reason"] = reason.map { "\($0)" }
            log.log(level: status == 200 ? .debug : .notice, "APNs answered a push", metadata: metadata)
        case .unreachable(let why):
            metadata["error"] = "\(why)"
            log.notice("a push got no answer", metadata: metadata)
        case .cancelled, .onlyLogged:
            log.debug("a push was cancelled", metadata: metadata)
        }
        report(order.id, result)
    }

    private static func isDeviceToken(_ text: String) -> Bool {
        (2...200).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// The reason why an ``APNsSender`` could not be created.
public struct APNsSenderError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence about the error.
    public let description: String
}
