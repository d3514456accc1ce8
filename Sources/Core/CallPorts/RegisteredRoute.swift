package import CallCore

/// A push token that a device has registered.
package struct RegisteredRoute: Equatable, Sendable {
    /// The push token, that of APNs in lower-case hex; for Web Push the subscription's endpoint.
    package let token: String
    /// What only some kinds of push have.
    private let keys: Keys
    /// When the token was last registered; `nil` = by a version that did not store it.
    package var at: Moment?

    /// The keys of a subscription, outside the record: most devices have none, and many devices are in memory.
    private indirect enum Keys: Equatable, Sendable {
        case none
        case webPush(p256dh: String, auth: String)
    }

    /// The route to a push token.
    package init(_ token: String, at: Moment? = nil) {
        self.token = token
        self.at = at
        keys = .none
    }

    /// The route to a browser's subscription.
    package init(_ subscription: WebPushSubscription, at: Moment? = nil) {
        token = subscription.endpoint
        self.at = at
        keys = .webPush(p256dh: subscription.p256dh, auth: subscription.auth)
    }

    /// The subscription to Web Push; `nil` = the route has another kind.
    package var subscription: WebPushSubscription? {
        guard case .webPush(let p256dh, let auth) = keys else { return nil }
        return WebPushSubscription(endpoint: token, p256dh: p256dh, auth: auth)
    }
}
