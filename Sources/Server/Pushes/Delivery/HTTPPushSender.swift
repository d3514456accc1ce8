import CallCore
package import CallPorts
package import OutboundHTTP
package import ServerLog

/// The validated settings for a push service.
package protocol PushConfiguration: Sendable {
    /// The words of the log.
    static var words: PushWords { get }
    /// The settings of the client that sends its requests.
    var client: HTTPClientConfiguration { get }

    /// Creates what makes its requests, with this log.
    func makeProvider(_ pushes: PushesUnderWay, _ log: ServerLog) -> any PushProvider
}

/// Makes the requests of one push service, and reads its responses.
package protocol PushProvider: AnyObject, Sendable {
    /// Sends a push that has begun, by requests through its ``PushesUnderWay``, and finishes it; must not block.
    func send(_ push: OutgoingPush)
    /// Forgets a push that waits for something before its request; returns whether it did.
    func forget(_ id: PushID) -> Bool
    /// Uses the keys of these settings from now on; all other settings stay as they are.
    func use(_ configuration: any PushConfiguration)
}

extension PushProvider {
    /// Nothing waits.
    package func forget(_ id: PushID) -> Bool { false }
    /// The key cannot be replaced while the server runs.
    package func use(_ configuration: any PushConfiguration) {}
}

/// The words of the log for one push service.
package struct PushWords: Sendable {
    /// Its messages at the beginning of a sentence: "Firebase messages".
    let messages: String
    /// Says that a push is sent: "a push is sent to APNs".
    let sent: StaticString
    /// Says that a response came: "APNs responded to a push".
    let responded: StaticString
    /// Says that a push was only logged: "no APNs key is configured: a push was not sent".
    let onlyLogged: StaticString
}

/// A sender of pushes to one service: the adapter of `PushSender`.
///
/// Its connections are few and lasting. Every response is reported, and if no response comes, the push is reported as
/// unreachable. The caller decides whether and when to send the push again. ``send(_:)`` and ``cancel(_:)`` do not block,
/// not even when the service does not respond.
package final class HTTPPushSender: PushSender {
    private let provider: any PushProvider
    private let client: HTTPClient
    private let pushes: PushesUnderWay

    /// Creates a sender; its connections are made with the first pushes.
    ///
    /// - Parameters:
    ///   - configuration: the settings of the service.
    ///   - log: the log; push tokens are cut to their first six characters, and a browser's endpoint is left out.
    ///   - report: called exactly once for each push, on the sender's thread or within ``send(_:)`` or ``cancel(_:)``.
    ///     The closure must only pass the result on, such as to the event loop.
    /// - Throws: ``PushSenderError`` when libcurl is unusable or the system refuses a thread.
    package init<Configuration: PushConfiguration>(
        _ configuration: Configuration,
        log: ServerLog,
        report: @escaping @Sendable (PushID, PushResult) -> Void
    ) throws(PushSenderError) {
        do {
            client = try HTTPClient(configuration.client)
        } catch {
            throw PushSenderError(description: "\(Configuration.words.messages) cannot be sent: \(error)")
        }
        pushes = PushesUnderWay(client, Configuration.words, log: log, report: report)
        provider = configuration.makeProvider(pushes, log)
    }

    /// Sends one push; its result is reported, even if the push could not be sent at all.
    package func send(_ push: OutgoingPush) {
        pushes.begin(push)
        provider.send(push)
    }

    /// Cancels a push that waits for what its request needs, or has not been sent on a connection yet.
    ///
    /// A push that was sent continues until its service responds, and is not sent a second time.
    package func cancel(_ id: PushID) { pushes.cancel(id, waits: provider.forget(id)) }

    /// Uses the keys of these settings from now on; all other settings stay as they are.
    ///
    /// Call this method from any thread.
    package func use(_ configuration: any PushConfiguration) { provider.use(configuration) }

    /// The numbers of its requests and hosts.
    package var figures: HTTPClientFigures { client.figures }

    /// Runs a closure on the loop of the sender's client, where it must not block; from any thread.
    package func onLoop(_ body: @escaping @Sendable () -> Void) { client.call(afterMilliseconds: 0, body) }

    /// Shuts the sender down, and blocks until that is done.
    ///
    /// Pushes under way have this long to finish; the rest is reported as unreachable. Then the connections are closed.
    /// Later pushes are reported as unreachable.
    package func shutdown(limitMilliseconds: Int64 = 2_000) { client.shutdown(limitMilliseconds: limitMilliseconds) }
}

/// The reason why an ``HTTPPushSender`` could not be created.
package struct PushSenderError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence about the error.
    package let description: String
}
