package import CallPorts
import Crypto
import OutboundHTTP
import Threads

/// A test request for `ringline doctor`, which shows whether Apple's push service accepts our provider token.
///
/// The request is a push to a push token that does not exist. Apple checks the provider token first, so the refusal
/// `BadDeviceToken` shows that Apple accepted the provider token. No device is notified.
package enum APNsProbe {
    /// The response to the test request.
    package struct Response: Equatable, Sendable {
        /// The result, of the same type as the result of any push.
        package let result: PushResult
        /// The `date` header of the response, in seconds since 1970; `nil` if the header is missing or invalid.
        package let dateSeconds: Int64?
    }

    /// Signs a provider token and discards it.
    ///
    /// - Throws: ``APNsConfigurationError/unusableKey(_:)`` when the key does not sign.
    package static func sign(_ configuration: APNsConfiguration) throws(APNsConfigurationError) {
        do { _ = try ProviderToken(configuration).current() } catch { throw .unusableKey(error.description) }
    }

    /// Sends the test request, and waits for the response.
    ///
    /// - Parameters:
    ///   - configuration: key, ids and endpoints.
    ///   - environment: which of the two services.
    ///   - topic: `apns-topic`; `nil` leaves the header out. Apple then refuses the push with `MissingTopic` if it has
    ///     accepted the provider token.
    ///   - timeoutMilliseconds: how long to wait at most.
    /// - Returns: Apple's response; if none came, the result is `unreachable`.
    package static func send(
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
