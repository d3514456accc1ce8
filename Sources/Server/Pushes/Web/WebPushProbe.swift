import CallCore
package import CallPorts
import Crypto

/// A message for `ringline doctor`, which shows whether a push service can be reached.
///
/// The message is for a browser that does not exist, and nobody is notified.
package enum WebPushProbe {
    /// How long the probe waits for a response at most, in milliseconds.
    private static let limit: Int64 = 10_000

    /// Sends the message to a push service and waits for the result.
    ///
    /// `origin`: The push service, `https://host` or `https://host:port`.
    package static func send(_ configuration: WebPushConfiguration, to origin: String) -> PushResult {
        let subscription: WebPushSubscription
        do {
            subscription = WebPushSubscription(
                endpoint: origin + "/wpush/v2/ringline-doctor",
                p256dh: Base64URL.encode(try P256AgreementKey.generate().publicKey.p256Point()),
                auth: Base64URL.encode(SecureRandom.bytes(16))
            )
        } catch { return .notSent("no key could be made") }
        return ProbePush.send(
            configuration,
            by: .web(subscription),
            payload: [],
            expiresAt: Moment(milliseconds: configuration.expiryClock() + limit)
        )
    }
}
