public import CallCore

/// An event in a call as it is stored.
public struct TimelineRecord: Equatable, Sendable {
    /// When it happened.
    public var at: Moment
    /// The event.
    public var event: TimelineEvent

    /// An event at a moment.
    @inlinable
    public init(at: Moment, event: TimelineEvent) {
        self.at = at
        self.event = event
    }
}

/// A registered device.
public struct DeviceRecord: Equatable, Sendable {
    /// The device's user.
    public var user: UserID
    /// The device's id, chosen by the client or, if the client sent none, by the server.
    public var id: DeviceID
    /// Whether the client sent the device's id.
    ///
    /// A device whose client sent no id counts as connected if and only if its user has a connection without a device
    /// id.
    public var isNamed: Bool
    /// The platform, such as `ios` or `android`.
    public var platform: String
    /// The app's bundle id; the topic of the device's pushes begins with it.
    public var bundleID: String
    /// The VoIP push token, lower-case hex; `nil` = none is registered.
    public var voipToken: String?
    /// When the VoIP push token was last registered; `nil` = never.
    public var voipTokenAt: Moment?
    /// The alert push token, lower-case hex; `nil` = none is registered.
    public var alertToken: String?
    /// When the alert push token was last registered; `nil` = never.
    public var alertTokenAt: Moment?
    /// The Firebase token, which is stored but not used: this version does not send through Firebase.
    public var fcmToken: String?
    /// The APNs environment that the client named; `nil` = the client named none.
    public var environment: APNsEnvironment?
    /// The APNs environment in which APNs last accepted a push to the device; `nil` = not known yet.
    public var workingEnvironment: APNsEnvironment?
    /// When the device was first registered.
    public var createdAt: Moment
    /// When the device last gave a sign of life.
    public var seenAt: Moment
    /// The number of VoIP pushes in a row that no sign of life followed.
    public var unansweredPushes: Int
    /// The result of the last push; `nil` = there was no push.
    public var lastPush: LastPush?

    /// The number of VoIP pushes in a row without a reaction after which iOS is assumed to withhold them (protocol,
    /// section 6).
    public static let pushesUntilAlert = 3

    /// The kind of push that rings the device: an alert if it has an alert token, and either no VoIP token or
    /// ``pushesUntilAlert`` VoIP pushes without a reaction; otherwise a VoIP push.
    @inlinable
    public var ringingPush: OutgoingPush.Kind {
        guard alertToken != nil else { return .voip }
        return voipToken == nil || unansweredPushes >= Self.pushesUntilAlert ? .alert : .voip
    }

    /// Returns the push token for a kind of push; `nil` = none is registered.
    @inlinable
    public func token(for kind: OutgoingPush.Kind) -> String? {
        switch kind {
        case .voip: voipToken
        case .alert: alertToken
        }
    }

    /// Returns the topic of a kind of push.
    @inlinable
    public func topic(for kind: OutgoingPush.Kind) -> String { kind == .voip ? bundleID + ".voip" : bundleID }

    /// The result of a push.
    public struct LastPush: Equatable, Sendable {
        /// When the result came.
        public var at: Moment
        /// APNs' status; 0 when there was none.
        public var status: Int
        /// APNs' reason ("BadDeviceToken"), or the server's own reason; `nil` = there is none.
        public var reason: String?
        /// The APNs environment that was used.
        public var environment: APNsEnvironment
        /// The meaning of the result or what to do about it, in plain words; `nil` = there is nothing to explain.
        public var hint: String?

        /// A result with the given members.
        public init(at: Moment, status: Int, reason: String?, environment: APNsEnvironment, hint: String?) {
            self.at = at
            self.status = status
            self.reason = reason
            self.environment = environment
            self.hint = hint
        }
    }

    /// A device without push tokens, registered and last seen at `createdAt`.
    @inlinable
    public init(user: UserID, id: DeviceID, isNamed: Bool, platform: String, bundleID: String, createdAt: Moment) {
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
