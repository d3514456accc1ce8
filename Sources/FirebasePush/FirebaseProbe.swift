import CallCore
public import CallPorts
import ServerLog
import Threads

/// A test message for `ringline doctor`, which shows whether Google accepts the service account.
///
/// Firebase only checks the message, which is for a token that does not exist, and no device is notified.
public enum FirebaseProbe {
    /// How long the probe waits for a response at most, in milliseconds, after the access token has come.
    private static let limit: Int64 = 10_000

    /// Sends the test message and waits for its result.
    public static func send(_ configuration: FirebaseConfiguration) -> PushResult {
        var configuration = configuration
        configuration.onlyValidates = true
        let result = Monitor<PushResult?>(nil)
        let sender: FirebaseSender
        do {
            sender = try FirebaseSender(configuration, log: .silent) { _, found in result.withLock { $0 = found } }
        } catch { return .unreachable(error.description) }
        defer { sender.shutdown(limitMilliseconds: 500) }
        sender.send(
            OutgoingPush(
                id: PushID(rawValue: 1),
                route: .firebase(token: "ringline-doctor"),
                uuid: "",
                payload: Array("{}".utf8),
                kept: .untilExpiry,
                expiresAt: Moment(milliseconds: configuration.expiryClock() + limit)
            )
        )
        return result.wait { $0.take() }
    }
}
