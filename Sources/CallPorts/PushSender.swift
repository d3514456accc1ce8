public import CallCore

/// The port to Apple's push service, which wakes devices.
///
/// Both methods return immediately, and may be called only on the event loop that owns the switchboard. Each push gets
/// exactly one report, even a push that was cancelled too late or could not be sent. The adapter passes the report, on
/// that event loop, to the receiver that the adapter was created with.
public protocol PushSender: AnyObject, Sendable {
    /// Sends one push; its result comes back as a report with the push's `id`.
    func send(_ push: OutgoingPush)
    /// Cancels a push, if it was not yet handed to the network; the push is then reported as ``PushResult/cancelled``.
    func cancel(_ id: PushID)
}

/// The number of a push, which its report repeats.
public struct PushID: Hashable, Sendable {
    /// The number; counts up from 1 in one run of the server.
    public let rawValue: UInt64

    /// The push with this number.
    @inlinable
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A push that is ready to be sent: its content, its device, and which of Apple's endpoints to use.
public struct OutgoingPush: Equatable, Sendable {
    /// The number that the report repeats.
    public var id: PushID
    /// The device's push token, lower-case hex.
    public var token: String
    /// The topic: `<bundle id>.voip` for a VoIP push, the bundle id for an alert.
    public var topic: String
    /// The value of `apns-push-type`.
    public var kind: Kind
    /// The Apple service to use.
    public var environment: APNsEnvironment
    /// `apns-id`: a lower-case UUID, the same for every retry of one push.
    public var apnsID: String
    /// The JSON payload; at most 5,120 bytes for VoIP and 4,096 for an alert.
    public var payload: [UInt8]
    /// How long APNs keeps the push for a device that it cannot reach (`apns-expiration`).
    public var kept: Kept
    /// `apns-collapse-id`: a push replaces an earlier one with the same value on the screen; at most 64 bytes, `nil` =
    /// the push replaces none.
    public var collapseID: String?
    /// The moment after which the push is useless.
    ///
    /// A request that is still under way at this moment is given up and reported as ``PushResult/unreachable(_:)``.
    public var expiresAt: Moment
    /// The callId of the call that the push is for, for the server's log only; `nil` = the push is for a text.
    public var call: CallID?
    /// The device that the push goes to, for the server's log only.
    public var device: DeviceID?

    /// The kind of a push (`apns-push-type`).
    public enum Kind: String, Sendable {
        /// Wakes the app, which reports the call to CallKit immediately. Priority 10.
        case voip
        /// Shows a notification. Priority 10.
        case alert
    }

    /// How long APNs keeps a push for a device that it cannot reach.
    public enum Kept: Sendable {
        /// Not at all: a VoIP push rings now or not at all.
        case never
        /// Until the push expires (``OutgoingPush/expiresAt``), because then the call has stopped ringing.
        case untilExpiry
        /// For a day: a notice is useful even if it is late.
        case aDay
    }

    /// A push with the given members.
    public init(
        id: PushID,
        token: String,
        topic: String,
        kind: Kind,
        environment: APNsEnvironment,
        apnsID: String,
        payload: [UInt8],
        kept: Kept,
        collapseID: String? = nil,
        expiresAt: Moment,
        call: CallID? = nil,
        device: DeviceID? = nil
    ) {
        self.id = id
        self.token = token
        self.topic = topic
        self.kind = kind
        self.environment = environment
        self.apnsID = apnsID
        self.payload = payload
        self.kept = kept
        self.collapseID = collapseID
        self.expiresAt = expiresAt
        self.call = call
        self.device = device
    }
}

/// One of Apple's two push services: a push token is valid for only one of them.
public enum APNsEnvironment: String, Sendable, CaseIterable {
    /// For builds from Xcode.
    case sandbox
    /// For TestFlight and the App Store.
    case production

    /// The other environment.
    public var other: Self { self == .sandbox ? .production : .sandbox }
}

/// The result of a push.
public enum PushResult: Equatable, Sendable {
    /// APNs responded with 200, or with an error and its `reason` ("BadDeviceToken"). For 410 there is also the
    /// `timestamp` since which the push token is invalid.
    case response(status: Int, reason: String?, timestamp: Moment?)
    /// There was no response, because the connection failed, was lost or timed out. The text says so in plain words,
    /// without addresses.
    case unreachable(String)
    /// The push was cancelled before it was sent.
    case cancelled
    /// There is no APNs key: the push was only logged.
    case onlyLogged
}
