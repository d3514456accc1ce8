public import Logging
public import Switchboard

/// Stands in for Apple when there is no key: says in the log that a push would have gone out, and sends nothing.
public final class LoggingPushSender: PushSender {
    private let log: Logger
    private let report: @Sendable (PushID, PushResult) -> Void

    /// A sender that reports every order as ``Switchboard/PushResult/onlyLogged``, from within ``send(_:)``.
    public init(log: Logger, report: @escaping @Sendable (PushID, PushResult) -> Void) {
        self.log = log
        self.report = report
    }

    /// Logs one line about the push, without its token, and reports.
    public func send(_ order: PushOrder) {
        log.notice(
            "there is no APNs key: a push was not sent",
            metadata: [
                "push.id": "\(order.id.rawValue)", "push.kind": "\(order.kind.rawValue)",
                "apns.topic": "\(order.topic)", "apns.environment": "\(order.environment.rawValue)",
                "push.bytes": "\(order.payload.count)",
            ]
        )
        report(order.id, .onlyLogged)
    }

    /// Does nothing: every order is answered at once.
    public func cancel(_ id: PushID) {}
}
