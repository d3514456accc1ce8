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
    /// Its push tokens.
    package var routes = PushTable<RegisteredRoute>()
    /// The id of the installation, on which several users may be signed in; `nil` = the client named none.
    package var installation: String?
    /// The name of the sound of an alert that rings; `nil` = the system's.
    package var sound: String?
    /// Additional payload keys that the app has asked for, as `PayloadAliases` writes them; `nil` = none.
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
    @inlinable
    package var isAppleDevice: Bool { routes.has(.voip) || ApplePlatform.isNamed(by: platform) }

    /// Whether it is an Apple device with a Firebase token and without a token of APNs.
    ///
    /// It cannot ring, because iOS starts no app for a Firebase message.
    package var isUnreachableByFirebase: Bool {
        isAppleDevice && routes.has(.firebase) && !routes.entries.contains { $0.kind.isThroughAPNs }
    }

    /// Returns the push token for a kind of push; `nil` = none is registered.
    @inlinable
    package func token(for kind: PushKind) -> String? { routes[kind]?.token }

    /// Returns the route for a kind of push; `nil` = there is no token for it.
    ///
    /// `environment`: The APNs environment to use.
    @inlinable
    package func route(for kind: PushKind, _ environment: APNsEnvironment) -> PushRoute? {
        guard let route = routes[kind] else { return nil }
        if kind.isThroughAPNs {
            let isVoIP = kind == .voip
            return .apns(
                APNsRoute(
                    token: route.token,
                    topic: isVoIP ? bundleID + ".voip" : bundleID,
                    environment: environment,
                    pushType: isVoIP ? .voip : .alert
                )
            )
        }
        // Nothing can be encrypted for a browser without its keys.
        return kind == .web ? route.subscription.map { .web($0) } : .plain(kind, token: route.token)
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
