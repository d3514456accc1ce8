import Crypto
import Dispatch
import OutboundHTTP
public import Switchboard
import Threads

/// One question to Apple's push service, to find out whether it takes our provider token: for `ringline doctor`.
///
/// It is a push to a device that does not exist. Apple looks at the provider token first, so that `BadDeviceToken` is
/// the good answer; nobody's phone hears of it.
public enum APNsProbe {
    /// What came back.
    public struct Answer: Equatable, Sendable {
        /// As of any push.
        public let result: PushResult
        /// What the answer's `date` says, in seconds since 1970; `nil` where it has none.
        public let dateSeconds: Int64?
    }

    /// Signs a provider token and throws it away.
    ///
    /// - Throws: ``APNsConfigurationError/unusableKey(_:)`` when the key does not sign.
    public static func sign(_ configuration: APNsConfiguration) throws(APNsConfigurationError) {
        do { _ = try ProviderToken(configuration).current() } catch { throw .unusableKey(error.description) }
    }

    /// Asks, and waits for the answer.
    ///
    /// - Parameters:
    ///   - configuration: key, ids and endpoints.
    ///   - environment: which of the two services.
    ///   - topic: `apns-topic`; `nil` leaves it out, which Apple answers with `MissingTopic` after it took the token.
    ///   - timeoutMilliseconds: how long to wait at most.
    /// - Returns: what Apple said; unreachable where that was nothing.
    public static func ask(
        _ configuration: APNsConfiguration,
        _ environment: APNsEnvironment,
        topic: String?,
        timeoutMilliseconds: Int64 = 8_000
    ) -> Answer {
        var http = HTTPClientConfiguration()
        http.caFile = configuration.caFile
        http.usesProxyFromEnvironment = configuration.usesProxyFromEnvironment
        do {
            let client = try HTTPClient(http)
            let token = try ProviderToken(configuration).current()
            let endpoint =
                environment == .sandbox ? configuration.endpoints.sandbox : configuration.endpoints.production
            var request = HTTPRequest(
                method: "POST",
                url: endpoint + "/3/device/" + String(repeating: "0", count: 64),
                headers: (topic.map { [HTTPHeader("apns-topic", $0)] } ?? []) + [
                    HTTPHeader("apns-push-type", "voip"), HTTPHeader("apns-priority", "10"),
                    HTTPHeader("apns-expiration", "0"), HTTPHeader("authorization", "bearer " + token),
                ],
                body: Array(#"{"aps":{"content-available":1}}"#.utf8),
                timeoutMilliseconds: timeoutMilliseconds
            )
            request.requiresHTTP2 = true
            request.bodyLimit = 16 << 10
            request.wantedHeaders = ["date"]
            let (answer, done) = (Locked<Answer?>(nil), DispatchSemaphore(value: 0))
            client.send(request) { outcome in
                answer.withLock { $0 = Self.answer(outcome) }
                done.signal()
            }
            done.wait()
            client.shutdown(limitMilliseconds: 500)
            return answer.withLock { $0 } ?? Answer(result: .cancelled, dateSeconds: nil)
        } catch {
            return Answer(result: .unreachable("\(error)"), dateSeconds: nil)
        }
    }

    private static func answer(_ outcome: HTTPClient.Outcome) -> Answer {
        switch outcome {
        case .success(let response):
            Answer(
                result: APNsAnswer.result(of: response),
                dateSeconds: response.header("date").flatMap(HTTPDate.seconds)
            )
        case .failure(let failure): Answer(result: .unreachable(failure.description), dateSeconds: nil)
        }
    }
}
