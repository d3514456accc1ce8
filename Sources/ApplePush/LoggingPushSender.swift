import CallCore
public import CallPorts
public import Logging

/// A replacement for the sender to Apple when there is no key: it logs each push instead of sending it.
public final class LoggingPushSender: PushSender {
    private let log: Logger
    private let report: @Sendable (PushID, PushResult) -> Void

    /// Creates a sender that reports every order as `PushResult.onlyLogged`, within ``send(_:)``.
    public init(log: Logger, report: @escaping @Sendable (PushID, PushResult) -> Void) {
        self.log = log
        self.report = report
    }

    /// Logs one line about the push, without its token, and reports the result.
    public func send(_ order: PushOrder) {
        var metadata: Logger.Metadata = [
            "push.id": "\(order.id.rawValue)", "push.kind": "\(order.kind.rawValue)",
            "apns.topic": "\(order.topic)", "apns.environment": "\(order.environment.rawValue)",
            "push.bytes": "\(order.payload.count)",
        ]
        if let call = order.call { metadata["call.id"] = "\(call.text)" }
        if let device = order.device { metadata["device.id"] = "\(device.text)" }
        log.notice("no APNs key is configured: a push was not sent", metadata: metadata)
        report(order.id, .onlyLogged)
    }

    /// Does nothing: every order is reported immediately.
    public func cancel(_ id: PushID) {}
}
