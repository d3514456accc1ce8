public import CallPorts
import Crypto
import OutboundHTTP
import Threads

/// A test request to Apple's push service that shows whether it accepts our provider token, for `ringline doctor`.
///
/// It is a push to a device token that does not exist. Apple checks the provider token first, so `BadDeviceToken` is
/// the good answer; no device is notified.
public enum APNsProbe {
    /// The answer to the test request.
    public struct Response: Equatable, Sendable {
        /// The result, in the form that the result of any push has.
        public let result: PushResult
        /// The `date` header of the answer, in seconds since 1970; `nil` if it is missing or invalid.
        public let dateSeconds: Int64?
    }

    /// Signs a provider token and discards it.
    ///
    /// - Throws: ``APNsConfigurationError/unusableKey(_:)`` when the key does not sign.
    public static func sign(_ configuration: APNsConfiguration) throws(APNsConfigurationError) {
        do { _ = try ProviderToken(configuration).current() } catch { throw .unusableKey(error.description) }
    }

    /// Sends the test request, and waits for the answer.
    ///
    /// - Parameters:
    ///   - configuration: key, ids and endpoints.
    ///   - environment: which of the two services.
    ///   - topic: `apns-topic`; `nil` leaves it out, which Apple answers with `MissingTopic` after it accepted the
    ///     token.
    ///   - timeoutMilliseconds: how long to wait at most.
    /// - Returns: Apple's answer; if there was none, its result is `unreachable`.
    public static func send(
        _ configuration: APNsConfiguration,
        _ environment: APNsEnvironment,
        topic: String?,
        timeoutMilliseconds: Int64 = 8_000
    ) -> Response {
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
            let response = Monitor<Response?>(nil)
            client.send(request) { outcome in response.withLock { $0 = Self.response(outcome) } }
            let result = response.wait { $0 }
            client.shutdown(limitMilliseconds: 500)
            return result
        } catch {
            return Response(result: .unreachable("\(error)"), dateSeconds: nil)
        }
    }

    private static func response(_ outcome: HTTPClient.Outcome) -> Response {
        switch outcome {
        case .success(let response):
            Response(
                result: APNsResponse.result(of: response),
                dateSeconds: response.header("date").flatMap(HTTPDate.seconds)
            )
        case .failure(let failure): Response(result: .unreachable(failure.description), dateSeconds: nil)
        }
    }
}
