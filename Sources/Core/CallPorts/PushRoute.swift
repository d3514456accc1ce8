package import CallCore

/// The way to a device: a push service, and the address that the service gave the device.
package enum PushRoute: Equatable, Sendable {
    /// Through Apple's push service.
    case apns(APNsRoute)
    /// Through a service whose token is the whole address, such as Firebase Cloud Messaging.
    case plain(PushKind, token: String)
    /// Through the push service of a browser.
    case web(WebPushSubscription)

    /// The kind of push that this route carries.
    package var kind: PushKind {
        switch self {
        case .apns(let route): route.pushType == .voip ? .voip : .alert
        case .plain(let kind, _): kind
        case .web: .web
        }
    }

    /// The device's push token; for Web Push the subscription's endpoint.
    package var token: String {
        switch self {
        case .apns(let route): route.token
        case .plain(_, let token): token
        case .web(let subscription): subscription.endpoint
        }
    }

    /// The APNs environment; `nil` = the route does not lead through APNs.
    package var environment: APNsEnvironment? {
        switch self {
        case .apns(let route): route.environment
        case .plain, .web: nil
        }
    }

    /// The topic; `nil` = the route does not lead through APNs.
    package var topic: String? {
        switch self {
        case .apns(let route): route.topic
        case .plain, .web: nil
        }
    }

    /// The same route in the other APNs environment; `nil` = the route does not lead through APNs.
    package var inOtherEnvironment: PushRoute? {
        guard case .apns(var route) = self else { return nil }
        route.environment = route.environment.other
        return .apns(route)
    }
}

/// The way to a device through APNs.
package struct APNsRoute: Equatable, Sendable {
    /// The device's push token, lower-case hex.
    package var token: String
    /// The topic: `<bundle id>.voip` for a VoIP push, the bundle id for an alert.
    package var topic: String
    /// The Apple service to use.
    package var environment: APNsEnvironment
    /// The value of `apns-push-type`.
    package var pushType: PushType

    /// The push types that are used (`apns-push-type`).
    package enum PushType: String, Sendable {
        /// Wakes the app.
        case voip
        /// Shows a notification.
        case alert
    }

    /// A route with the given members.
    package init(token: String, topic: String, environment: APNsEnvironment, pushType: PushType) {
        self.token = token
        self.topic = topic
        self.environment = environment
        self.pushType = pushType
    }
}

/// One of Apple's two push services: a push token is valid for only one of them.
package enum APNsEnvironment: String, Sendable, CaseIterable {
    /// For builds from Xcode.
    case sandbox
    /// For TestFlight and the App Store.
    case production

    /// The other environment.
    package var other: Self { self == .sandbox ? .production : .sandbox }
}
