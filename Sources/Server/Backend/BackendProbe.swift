package import CallCore
import CallPorts
import OutboundHTTP
import Threads

/// Posts single requests to the app's backend, and waits for each: for `ringline doctor`.
package struct BackendProbe {
    private let configuration: BackendConfiguration

    /// The result of a request.
    package enum Outcome {
        /// The backend responded with an HTTP status and a body.
        case response(status: Int, body: [UInt8])
        /// There was no response; the text says why.
        case unreachable(String)
    }

    /// A probe that signs as the configuration says.
    package init(_ configuration: BackendConfiguration) { self.configuration = configuration }

    /// Posts JSON, and blocks until there is a result.
    ///
    /// - Parameters:
    ///   - body: the JSON.
    ///   - id: the value of `webhook-id`.
    ///   - url: the address.
    ///   - timeout: how long the backend has to respond.
    /// - Returns: the result.
    package func post(_ body: [UInt8], id: String, to url: String, timeout: Moment.Duration) -> Outcome {
        let client: BackendClient
        do throws(HTTPClientError) {
            client = try BackendClient(configuration, configuration.clientForQuestions)
        } catch { return .unreachable("\(error)") }
        let outcome = Monitor<Outcome?>(nil)
        client.post(body, id: id, to: url, timeout: timeout) {
            $0.bodyLimit = DecisionRequest.responseBytes
        } completion: { result in
            outcome.withLock { kept in
                switch result {
                case .success(let response): kept = .response(status: response.status, body: response.body)
                case .failure(let failure): kept = .unreachable(failure.description)
                }
            }
        }
        defer { client.shutdown(limitMilliseconds: 500) }
        return outcome.wait { $0 }
    }
}
