import CallCore
import Crypto
public import Logging
import OutboundHTTP
public import Switchboard
import Threads

/// Sends pushes by Apple's HTTP/2 API: the adapter of `PushSender` for iOS devices.
///
/// `POST /3/device/<token>` over a few lasting connections to each service. `ExpiredProviderToken` is met here (renew,
/// send once more); every other answer is reported as it is, and every failure to get one as unreachable: it is for the
/// caller to wait and to send again, under the same `apns-id`. Neither call blocks, nor does a dead Apple.
///
/// Source: Apple, "Sending notification requests to APNs"; protocol, section 6.
public final class APNsSender: PushSender {
    /// What an alert's `apns-expiration` adds to now: a missed call is worth knowing for a day.
    static let alertLifeSeconds: Int64 = 24 * 60 * 60

    private let configuration: APNsConfiguration
    private let providerToken: ProviderToken
    private let client: HTTPClient
    private let report: @Sendable (PushID, PushResult) -> Void
    private let log: Logger
    /// The orders under way and their requests, for ``cancel(_:)``.
    private let requests = Locked<[PushID: HTTPRequestID?]>([:])

    /// Starts a sender; its connections are made with the first pushes.
    ///
    /// - Parameters:
    ///   - configuration: key, ids and endpoints.
    ///   - log: where it says what it does; device tokens are cut to their first six characters.
    ///   - report: called exactly once for each order, on a thread of the sender's or within ``send(_:)``; it must only
    ///     pass the result on, such as to the loop.
    /// - Throws: ``APNsSenderError`` when libcurl or the system will not have it.
    public init(
        _ configuration: APNsConfiguration,
        log: Logger,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(APNsSenderError) {
        var http = HTTPClientConfiguration()
        http.caFile = configuration.caFile
        http.usesProxyFromEnvironment = configuration.usesProxyFromEnvironment
        // Apple grants a new connection one stream until it has shown a good provider token.
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

    /// Sends one push; its result comes back as a report, also when it could not be sent at all.
    public func send(_ order: PushOrder) {
        let isNew = requests.withLock { $0.updateValue(.none, forKey: order.id) == nil }
        precondition(isNew, "a push was ordered twice under one id")
        guard Self.isDeviceToken(order.token) else {
            // It would be part of a path. Apple would say the same.
            return finish(order, .answered(status: 400, reason: "BadDeviceToken", timestamp: nil))
        }
        do {
            post(order, providerToken: try providerToken.current(), mayRenew: true)
        } catch {
            finish(order, .unreachable("the provider token could not be signed"))
        }
    }

    /// Takes a push back that has not gone out on a connection yet; one that has is left to be answered.
    public func cancel(_ id: PushID) {
        guard let request = requests.withLock({ $0[id] }), let request else { return }
        client.cancel(request, onlyIfUnsent: true)
    }

    /// Signs with this configuration's key from now on; all else stays as it is.
    ///
    /// It may be called from any thread.
    public func use(_ configuration: APNsConfiguration) { providerToken.use(configuration.signer) }

    /// Lets pushes under way finish for so long, reports the rest as unreachable and closes the connections; it blocks
    /// until then.
    ///
    /// Orders that come later are reported as unreachable.
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
        // It may be answered by now, and is then no longer in the table.
        requests.withLock { requests in
            if requests[order.id] != nil { requests[order.id] = .some(id) }
        }
    }

    /// Sends it again under a new provider token, if there is one to be had.
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
                // A call is rung now or not at all; a notice may wait for the phone to come back.
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

/// Why an ``APNsSender`` could not be made.
public struct APNsSenderError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence.
    public let description: String
}
