public import CallCore

/// Who wakes a phone: the port to Apple's push service.
///
/// Both calls return at once and may be made from the loop only; each order is answered by exactly one report (also one
/// that was cancelled too late or could not be sent), handed to whoever the adapter was made with, on the loop.
public protocol PushSender: AnyObject, Sendable {
    /// Sends one push; its result comes back as a report with the order's `id`.
    func send(_ order: PushOrder)
    /// Gives up a push that was not yet handed to the network; it is then reported as ``PushResult/cancelled``.
    func cancel(_ id: PushID)
}

/// Names one push from the order to its report.
public struct PushID: Hashable, Sendable {
    /// Counts up from 1 in one run of the server.
    public let rawValue: UInt64

    /// The push with this number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// One push, ready to go: what to send to which device, and by which of Apple's endpoints.
public struct PushOrder: Equatable, Sendable {
    /// What the report will name.
    public var id: PushID
    /// The device's token, lower-case hex.
    public var token: String
    /// `<bundle id>.voip` for a VoIP push, the bundle id for an alert.
    public var topic: String
    /// What `apns-push-type` says.
    public var kind: Kind
    /// Which of Apple's two services to ask.
    public var environment: APNsEnvironment
    /// `apns-id`: a lower-case UUID, the same for every retry of one push.
    public var apnsID: String
    /// The JSON payload; at most 5,120 bytes for VoIP and 4,096 for an alert.
    public var payload: [UInt8]
    /// After this moment the push is of no use; a request still under way is then given up and reported as unreachable.
    public var giveUpAt: Moment
    /// The call that it is for, if it is for one: for the log alone.
    public var call: CallID?
    /// The device that it goes to: for the log alone.
    public var device: DeviceID?

    /// What kind of push it is (`apns-push-type`).
    public enum Kind: String, Sendable {
        /// Wakes the app, which reports the call to CallKit at once. Priority 10.
        case voip
        /// A notice that the system shows. Priority 10.
        case alert
    }

    /// An order of all its parts.
    public init(
        id: PushID,
        token: String,
        topic: String,
        kind: Kind,
        environment: APNsEnvironment,
        apnsID: String,
        payload: [UInt8],
        giveUpAt: Moment,
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
        self.giveUpAt = giveUpAt
        self.call = call
        self.device = device
    }
}

/// One of Apple's two push services: a token is good for only one of them.
public enum APNsEnvironment: String, Sendable, CaseIterable {
    /// For builds from Xcode.
    case sandbox
    /// For TestFlight and the App Store.
    case production

    /// The one that is not this.
    public var other: Self { self == .sandbox ? .production : .sandbox }
}

/// What became of a push.
public enum PushResult: Equatable, Sendable {
    /// APNs answered: 200, or an error with its `reason` ("BadDeviceToken") and, for 410, since when (`timestamp`).
    case answered(status: Int, reason: String?, timestamp: Moment?)
    /// No answer: the connection failed, was lost or timed out; in plain words, without addresses.
    case unreachable(String)
    /// Taken back before it went out.
    case cancelled
    /// There is no APNs key: the push was only logged.
    case onlyLogged
}
