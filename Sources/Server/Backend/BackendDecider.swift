import CallCore
package import CallPorts
import Crypto
package import OutboundHTTP
package import ServerLog
import Threads

/// Asks the app's backend about offers: the adapter of `CallDecider`.
///
/// Each question is signed as Standard Webhooks demands, under an id of its own. The client is not that of events, so
/// that no decision waits behind them. Of a response at most `DecisionRequest.responseBytes` are read: a longer one
/// ends its connection, and counts as none.
package final class BackendDecider: CallDecider {
    private let url: String
    private let client: BackendClient
    private let log: ServerLog
    private let report: @Sendable (DecisionID, DecisionResult) -> Void

    /// What the `webhook-id` of each question begins with.
    private static let idPrefix = "dec_"
    private static let noUsableResponse: StaticString = "the app's backend gave no usable response to a question"

    /// Creates a decider; its connections are made with the first questions.
    ///
    /// - Parameters:
    ///   - configuration: the settings.
    ///   - url: the address that decides.
    ///   - log: the log; it gets no address and no content.
    ///   - report: called exactly once for each question, on the decider's thread or within ``ask(_:)``. The closure must
    ///     only pass the result on, such as to the event loop.
    /// - Throws: `HTTPClientError` when libcurl is unusable or the system refuses a thread.
    package init(
        _ configuration: BackendConfiguration,
        url: String,
        log: ServerLog,
        report: @escaping @Sendable (DecisionID, DecisionResult) -> Void
    ) throws(HTTPClientError) {
        self.url = url
        client = try BackendClient(configuration, configuration.clientForQuestions)
        self.log = log
        self.report = report
    }

    /// Posts a question; its result is reported, even if it could not be posted at all.
    package func ask(_ question: DecisionRequest) {
        let id = Self.idPrefix + SecureRandom.bytes(12).map { Self.hex($0) }.joined()
        log.debug("the app's backend is asked about a call", [.question(ServerText(id))])
        client.post(
            question.body,
            id: id,
            to: url,
            timeout: question.timeout,
            prepare: { $0.bodyLimit = DecisionRequest.responseBytes }
        ) { [log, report] outcome in
            switch outcome {
            case .success(let response):
                let fields: [LogField] = [.question(ServerText(id)), .responseStatus(response.status)]
                if response.status == 200 {
                    log.debug("the app's backend responded to a question", fields)
                } else {
                    log.limited(level: .warning, Self.noUsableResponse, of: nil, fields)
                }
                report(question.id, .response(status: response.status, body: response.body))
            case .failure(let failure):
                let why = failure.description
                if failure != .shutDown {
                    log.limited(
                        level: .warning,
                        Self.noUsableResponse,
                        of: nil,
                        [.question(ServerText(id)), .error(UntrustedText(why))]
                    )
                }
                report(question.id, .unreachable(why))
            }
        }
    }

    private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    /// Signs with these secrets from now on; call this method from any thread.
    package func use(_ secrets: WebhookSecrets) { client.use(secrets) }

    /// The numbers of its requests and hosts.
    package var figures: HTTPClientFigures { client.figures }

    /// Runs a closure on the loop of the decider's client, where it must not block; from any thread.
    package func onLoop(_ body: @escaping @Sendable () -> Void) { client.onLoop(body) }

    /// Shuts the decider down, and blocks until that is done.
    ///
    /// Questions under way have this long for their response; the rest is reported as unreachable, and so are later ones.
    package func shutdown(limitMilliseconds: Int64 = 0) { client.shutdown(limitMilliseconds: limitMilliseconds) }
}
