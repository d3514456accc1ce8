public import CallCore
public import CallWire

extension Switchboard {
    /// What a user may ask for over HTTP (protocol, section 5), once path and body were understood.
    public enum Request: Sendable {
        /// Append a signal.
        case signal(SignalMessage)
        /// Everything that a phone needs of a call.
        case fetch(CallID, Fetch)
        /// End a call; `peer` says with whom, where one name may be in use with several.
        case end(CallID, peer: UserID? = nil, device: DeviceID?)
        /// The user's calls, newest first.
        case history(limit: Int, before: CallNumber?)
        /// The record of the user's call with another, which a client believes to have begun just now.
        case record(with: UserID)
        /// State, legs and durations of a call; `peer` and `epoch` say which, where a name is used for several.
        case call(CallID, peer: UserID? = nil, epoch: UInt32? = nil)
        /// What happened in a call.
        case timeline(CallID, peer: UserID? = nil, epoch: UInt32? = nil)
        /// Register a device.
        case register(Registration)
        /// The user's devices.
        case devices
        /// Remove a device.
        case removeDevice(DeviceID)
        /// A credential for the TURN server.
        case relayCredential
        /// Whom the user blocks.
        case blocks
        /// Block a user.
        case block(UserID)
        /// Block a user no longer.
        case unblock(UserID)
        /// Do not disturb until a moment, or do again.
        case doNotDisturb(until: Moment?)
        /// Refuse all tokens that were issued to a user so far; `nil` = to the one who asks.
        case logOutEverywhere(UserID?)
    }

    /// How a call is fetched.
    public struct Fetch: Equatable, Sendable {
        /// With whom the call is, where one name may be in use with several; `nil` = the live one, else the newest.
        public var peer: UserID?
        /// Only signals behind this place.
        public var since: ClientMessage.Cursor?
        /// For how long to wait for one.
        public var wait: Moment.Span
        /// Whether only an array of the signals is wanted.
        public var isArray: Bool
        /// The device that asks.
        public var device: DeviceID?

        /// A fetch of all its parts.
        public init(
            peer: UserID? = nil,
            since: ClientMessage.Cursor? = nil,
            wait: Moment.Span = .seconds(0),
            isArray: Bool = false,
            device: DeviceID? = nil
        ) {
            self.peer = peer
            self.since = since
            self.wait = wait
            self.isArray = isArray
            self.device = device
        }
    }

    /// What a device says of itself.
    public struct Registration: Equatable, Sendable {
        /// Its VoIP push token, lower-case hex.
        public var voipToken: String?
        /// Its alert push token, lower-case hex.
        public var alertToken: String?
        /// Its Firebase token.
        public var fcmToken: String?
        /// The app.
        public var bundleID: String
        /// Such as `ios` or `android`.
        public var platform: String
        /// Its id.
        public var device: DeviceID?
        /// Which of Apple's services its tokens are of.
        public var environment: APNsEnvironment?

        /// A registration of all its parts.
        public init(
            voipToken: String? = nil,
            alertToken: String? = nil,
            fcmToken: String? = nil,
            bundleID: String,
            platform: String,
            device: DeviceID? = nil,
            environment: APNsEnvironment? = nil
        ) {
            self.voipToken = voipToken
            self.alertToken = alertToken
            self.fcmToken = fcmToken
            self.bundleID = bundleID
            self.platform = platform
            self.device = device
            self.environment = environment
        }
    }
}
