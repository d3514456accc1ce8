package import CallCore

/// An event in a call as it is stored.
package struct TimelineRecord: Equatable, Sendable {
    /// When it happened.
    package var at: Moment
    /// The event.
    package var event: TimelineEvent

    /// An event at a moment.
    @inlinable
    package init(at: Moment, event: TimelineEvent) {
        self.at = at
        self.event = event
    }
}

/// A registered device.
package struct DeviceRecord: Equatable, Sendable {
    /// The device's user.
    package var user: UserID
    /// The device's id, chosen by the client or, if the client sent none, by the server.
    package var id: DeviceID
    /// Whether the client sent the device's id.
    ///
    /// A device whose client sent no id counts as connected if and only if its user has a connection without a device
    /// id.
    package var isNamed: Bool
    /// The platform, such as `ios` or `android`.
    package var platform: String
    /// The app's bundle id; the topic of the device's pushes begins with it.
    package var bundleID: String
    /// The VoIP push token, lower-case hex; `nil` = none is registered.
    package var voipToken: String?
    /// When the VoIP push token was last registered; `nil` = never.
    package var voipTokenAt: Moment?
    /// The alert push token, lower-case hex; `nil` = none is registered.
    package var alertToken: String?
    /// When the alert push token was last registered; `nil` = never.
    package var alertTokenAt: Moment?
    /// Firebase's registration token; `nil` = none is registered.
    package var fcmToken: String?
    /// When the Firebase token was last registered; `nil` = never, or by a version that did not store it.
    package var fcmTokenAt: Moment?
    /// The subscription to Web Push; `nil` = none is registered.
    package var webPush: WebPushSubscription?
    /// When the subscription was last registered; `nil` = never.
    package var webPushAt: Moment?
    /// The id of the installation, on which several users may be signed in; `nil` = the client named none.
    package var installation: String?
    /// The name of the sound of an alert that rings; `nil` = the system's.
    package var sound: String?
    /// The keys that the app wants in the pushes of calls besides, as `PayloadAliases` writes them; `nil` = none.
    package var payloadKeys: String?
    /// The APNs environment that the client named; `nil` = the client named none.
    package var environment: APNsEnvironment?
    /// The APNs environment in which APNs last accepted a push to the device; `nil` = not known yet.
    package var workingEnvironment: APNsEnvironment?
    /// When the device was first registered.
    package var createdAt: Moment
    /// When the device last gave a sign of life.
    package var seenAt: Moment
    /// The number of VoIP pushes in a row that no sign of life followed.
    package var unansweredPushes: Int
    /// The result of the last push; `nil` = there was no push.
    package var lastPush: LastPush?

    /// The number of VoIP pushes in a row without a reaction after which iOS is assumed to withhold them (protocol,
    /// section 6).
    package static let pushesUntilAlert = 3

    /// Whether the device is one of Apple's, on which a Firebase message does not wake an app that was ended.
    package var isAppleDevice: Bool { voipToken != nil || ApplePlatform.isNamed(by: platform) }

    /// Whether it is an Apple device with a Firebase token and without a token of APNs.
    ///
    /// It cannot ring, because iOS starts no app for a Firebase message.
    package var isUnreachableByFirebase: Bool {
        isAppleDevice && token(for: .firebase) != nil
            && PushKind.allCases.allSatisfy { !$0.isThroughAPNs || token(for: $0) == nil }
    }

    /// All its push tokens.
    @inlinable
    package var tokens: [String] { PushKind.allCases.compactMap { token(for: $0) } }

    /// Returns the push token for a kind of push; `nil` = none is registered.
    @inlinable
    package func token(for kind: PushKind) -> String? {
        switch kind {
        case .voip: voipToken
        case .firebase: fcmToken
        case .web: webPush?.endpoint
        case .alert: alertToken
        }
    }

    /// Returns when the push token for a kind of push was last registered; `nil` = unknown.
    @inlinable
    package func tokenRegisteredAt(for kind: PushKind) -> Moment? {
        switch kind {
        case .voip: voipTokenAt
        case .firebase: fcmTokenAt
        case .web: webPushAt
        case .alert: alertTokenAt
        }
    }

    /// Removes the push token for a kind of push.
    package mutating func removeToken(for kind: PushKind) {
        switch kind {
        case .voip: voipToken = nil
        case .firebase: fcmToken = nil
        case .web: webPush = nil
        case .alert: alertToken = nil
        }
    }

    /// Returns the route for a kind of push; `nil` = there is no token for it.
    ///
    /// `environment`: The APNs environment to use.
    @inlinable
    package func route(for kind: PushKind, _ environment: APNsEnvironment) -> PushRoute? {
        switch kind {
        case .voip:
            voipToken.map {
                .apns(APNsRoute(token: $0, topic: bundleID + ".voip", environment: environment, pushType: .voip))
            }
        case .alert:
            alertToken.map {
                .apns(APNsRoute(token: $0, topic: bundleID, environment: environment, pushType: .alert))
            }
        case .firebase: fcmToken.map { .firebase(token: $0) }
        case .web: webPush.map { .web($0) }
        }
    }

    /// The result of a push.
    package struct LastPush: Equatable, Sendable {
        /// When the result came.
        package var at: Moment
        /// The push service's status; 0 when there was none.
        package var status: Int
        /// The push service's reason ("BadDeviceToken"), or the server's own reason; `nil` = there is none.
        package var reason: String?
        /// The APNs environment that was used; `nil` = the push did not go through APNs.
        package var environment: APNsEnvironment?
        /// The meaning of the result or what to do about it, in plain words; `nil` = there is nothing to explain.
        package var hint: String?

        /// A result with the given members.
        package init(at: Moment, status: Int, reason: String?, environment: APNsEnvironment?, hint: String?) {
            self.at = at
            self.status = status
            self.reason = reason
            self.environment = environment
            self.hint = hint
        }
    }

    /// A device without push tokens, registered and last seen at `createdAt`.
    @inlinable
    package init(user: UserID, id: DeviceID, isNamed: Bool, platform: String, bundleID: String, createdAt: Moment) {
        self.user = user
        self.id = id
        self.isNamed = isNamed
        self.platform = platform
        self.bundleID = bundleID
        self.createdAt = createdAt
        self.seenAt = createdAt
        self.unansweredPushes = 0
    }
}
