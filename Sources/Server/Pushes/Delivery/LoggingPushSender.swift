import CallCore
package import CallPorts
package import ServerLog

/// A replacement for the sender to a push service that is not configured: it logs each push instead of sending it.
package final class LoggingPushSender: PushSender {
    private let log: ServerLog
    private let report: @Sendable (PushID, PushResult) -> Void

    /// Creates a sender that reports every push as `PushResult.onlyLogged`, within ``send(_:)``.
    package init(log: ServerLog, report: @escaping @Sendable (PushID, PushResult) -> Void) {
        self.log = log
        self.report = report
    }

    /// Logs one line about the push within the log's limits, without its token, and reports the result.
    package func send(_ push: OutgoingPush) {
        let details: [LogField?] = [.pushKind(ServerText(push.route.kind)), .pushBytes(push.payload.count)]
        let account = push.device?.text
        switch push.route {
        case .apns(let route):
            log.limited(
                level: .notice,
                "no APNs key is configured: a push was not sent",
                of: account,
                push.logFields + details
                    + [.topic(UntrustedText(route.topic)), .environment(ServerText(route.environment))]
            )
        case .firebase:
            log.limited(
                level: .notice,
                "no Firebase service account is configured: a push was not sent",
                of: account,
                push.logFields + details
            )
        case .web:
            log.limited(
                level: .notice,
                "no VAPID subject is configured: a push was not sent",
                of: account,
                push.logFields + details
            )
        }
        report(push.id, .onlyLogged)
    }

    /// Does nothing: every push is reported immediately.
    package func cancel(_ id: PushID) {}
}
