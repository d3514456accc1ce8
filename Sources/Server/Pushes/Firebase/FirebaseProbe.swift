import CallCore
package import CallPorts

/// A test message for `ringline doctor`, which shows whether Google accepts the service account.
///
/// Firebase only checks the message, which is for a token that does not exist, and no device is notified.
package enum FirebaseProbe {
    /// How long the probe waits for a response at most, in milliseconds, after the access token has come.
    private static let limit: Int64 = 10_000

    /// Sends the test message and waits for its result.
    package static func send(_ configuration: FirebaseConfiguration) -> PushResult {
        var configuration = configuration
        configuration.onlyValidates = true
        return ProbePush.send(
            configuration,
            by: .plain(.firebase, token: "ringline-doctor"),
            payload: Array("{}".utf8),
            expiresAt: Moment(milliseconds: configuration.expiryClock() + limit)
        )
    }
}
