import CallCore
public import Logging
public import Switchboard

/// Stands in for Apple when there is no key: says in the log that a push would have gone out, and sends nothing.
public final class LoggingPushSender: PushSender {
    private let log: Logger
    private let report: @Sendable (PushID, PushResult) -> Void

    /// A sender that reports every order as `PushResult.onlyLogged`, from within ``send(_:)``.
    public init(log: Logger, report: @escaping @Sendable (PushID, PushResult) -> Void) {
        self.log = log
        self.report = report
    }

    /// Logs one line about the push, without its token, and reports.
    public func send(_ order: PushOrder) {
        var metadata: Logger.Metadata = [
            "push.id": "\(order.id.rawValue)", "push.kind": "\(order.kind.rawValue)",
            "apns.topic": "\(order.topic)", "apns.environment": "\(order.environment.rawValue)",
            "push.bytes": "\(order.payload.count)",
        ]
        if let call = order.call { metadata["call.id"] = "\(call.text)" }
        if let device = order.device { metadata["device.id"] = "\(device.text)" }
        log.notice("there is no APNs key: a push was not sent", metadata: metadata)
        report(order.id, .onlyLogged)
    }

    /// Does nothing: every order is answered at once.
    public func cancel(_ id: PushID) {}
}
