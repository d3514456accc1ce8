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

/// A device that can be pushed.
public struct DeviceRecord: Equatable, Sendable {
    /// The device's user.
    public var user: UserID
    /// The device's id: the client's, or one made by the server.
    public var id: DeviceID
    /// Whether the client sent the device's id.
    ///
    /// A device without an id is live if and only if its user has a connection without an id.
    public var isNamed: Bool
    /// The platform, such as `ios` or `android`.
    public var platform: String
    /// The app's bundle id; the topic of the device's pushes begins with it.
    public var bundleID: String
    /// The VoIP push token, lower-case hex.
    public var voipToken: String?
    /// When the VoIP token was last registered.
    public var voipTokenAt: Moment?
    /// The alert push token, lower-case hex.
    public var alertToken: String?
    /// When the alert token was last registered.
    public var alertTokenAt: Moment?
    /// The Firebase token (stored; sending comes later).
    public var fcmToken: String?
    /// The APNs environment that the client named.
    public var environment: APNsEnvironment?
    /// The APNs environment that was found to work.
    public var workingEnvironment: APNsEnvironment?
    /// When the device was first registered.
    public var createdAt: Moment
    /// When the device last gave a sign of life.
    public var seenAt: Moment
    /// The number of VoIP pushes in a row that no sign of life followed.
    public var unansweredPushes: Int
    /// The result of the last push.
    public var lastPush: LastPush?

    /// The number of VoIP pushes in a row without a reaction after which iOS is assumed to withhold them (protocol,
    /// section 6).
    public static let pushesUntilAlert = 3

    /// The result of a push.
    public struct LastPush: Equatable, Sendable {
        /// When the result came.
        public var at: Moment
        /// APNs' status; 0 when there was none.
        public var status: Int
        /// APNs' reason ("BadDeviceToken"), or the server's own.
        public var reason: String?
        /// The APNs environment that was used.
        public var environment: APNsEnvironment
        /// The meaning of the result and what to do, in plain words.
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

    /// A device without tokens.
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
