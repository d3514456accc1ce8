import CallCore
package import CallPorts
package import ServerLog

/// A replacement for the sender to a push service that is not configured: it logs each push instead of sending it.
package final class LoggingPushSender: PushSender {
    private let words: PushWords
    private let log: ServerLog
    private let report: @Sendable (PushID, PushResult) -> Void

    /// Creates a sender that reports every push as `PushResult.onlyLogged`, within ``send(_:)``.
    package init(_ words: PushWords, log: ServerLog, report: @escaping @Sendable (PushID, PushResult) -> Void) {
        self.words = words
        self.log = log
        self.report = report
    }

    /// Logs one line about the push within the log's limits, without its token, and reports the result.
    package func send(_ push: OutgoingPush) {
        log.limited(
            level: .notice,
            words.onlyLogged,
            of: push.device?.text,
            push.logFields + [
                .pushKind(ServerText(push.route.kind)), .pushBytes(push.payload.count),
                push.route.topic.map { .topic(UntrustedText($0)) },
                push.route.environment.map { .environment(ServerText($0)) },
            ]
        )
        report(push.id, .onlyLogged)
    }

    /// Does nothing: every push is reported immediately.
    package func cancel(_ id: PushID) {}
}
