import CallCore
import CallPorts
import CallWire

/// A simulated device of a user: its power, network, token, and app.
final class SimulatedDevice {
    enum Power { case foreground, suspended, killed }

    let index: Int
    let user: UserID
    /// Its device id: its own, or the one in the `welcome` of the only socket that a device without an id has.
    private(set) var id: DeviceID
    /// The fingerprint of its bearer token of now.
    private(set) var fingerprint: TokenFingerprint
    /// How far its clock is ahead, in milliseconds; negative = behind.
    let skew: Int64
    /// Whether it has no socket and only makes requests.
    let isPoller: Bool
    let environment: APNsEnvironment
    /// The kind of push that rings it first.
    let kind: PushKind

    /// Whether its app uses the real client core instead of the model client.
    let isRealApp: Bool
    /// Whether its app sends unacknowledged signals again only on a new socket, and never by a timer.
    var resendsOnlyOnNewSocket = false

    /// Whether its app gives no device id when it connects.
    ///
    /// Such an app is a page that lives as long as its socket, which is all it sends signals on: a client that connects
    /// again may be another device for the server. It learns its id from `welcome`, and names it in its requests.
    var isUnnamed = false
    /// Whether an unnamed device has its id.
    private(set) var hasAssignedID = false
    /// Whether an unnamed device has lost its socket, and is gone for ever.
    var isGone = false

    var power = Power.killed
    var core: (any DeviceCore)?
    /// A number that changes with each start and each kill of its app.
    var instance = 0
    /// The socket that the device uses or opens; `nil` if it has none.
    var link: Int?
    var isConnecting = false
    var offlineUntil: Int64 = 0
    /// Its current push token; `oldTokens` has the earlier ones, each with the moment at which it was replaced.
    var token: String
    var oldTokens: [(token: String, until: Int64)] = []
    var tokenCount = 0
    /// Whether the server refuses its bearer token.
    var hasExpiredToken = false
    /// When it last received anything from the server.
    var heardAt: Int64 = 0
    /// The moment for which the world has planned to wake its core.
    var wakesAt: Int64?
    var backoff: Int64 = 200
    /// The moment before which it must not reconnect, because a server that shut down asked for it.
    var mayReconnectAt: Int64 = 0
    /// When a real app's last socket ended or failed to open.
    var linkEndedAt: Int64 = 0
    /// The number of the newest planned poll for each call.
    var pollNumbers: [CallKey: Int] = [:]
    /// For each call, the last entry that the device received, with the time of arrival.
    var lastShown: [CallName: (seq: UInt64, at: Int64)] = [:]
    /// How many times the device has begun to ring for each call.
    ///
    /// A push that comes late, or to a clock that is fast, ends its ring at once; the socket may show later that the call
    /// still rings.
    var rings: [CallName: Int] = [:]
    /// For each call, the signals that the app has received since the app's last start.
    var delivered: [CallName: Deliveries] = [:]

    init(
        index: Int,
        user: UserID,
        device: DeviceID,
        fingerprint: TokenFingerprint,
        skew: Int64,
        isPoller: Bool,
        isRealApp: Bool,
        environment: APNsEnvironment,
        kind: PushKind
    ) {
        self.index = index
        self.user = user
        self.id = device
        self.fingerprint = fingerprint
        self.skew = skew
        self.isPoller = isPoller
        self.isRealApp = isRealApp
        self.environment = environment
        self.kind = kind
        token = Self.pushToken(of: device, kind, 0)
    }

    /// Its push tokens: ``token`` for the kind that rings it first, and for half of all VoIP devices an alert token.
    var tokens: PushTable<PushToken> {
        var tokens: PushTable<PushToken> = [kind: kind == .web ? Self.subscription(to: token) : .plain(token)]
        if kind == .voip, index % 2 == 0 { tokens[.alert] = .plain(Self.alertPrefix + token) }
        return tokens
    }

    /// The platform that it registers.
    var platform: String {
        kind.isThroughAPNs ? "ios" : kind == .web ? "web" : "android"
    }

    /// The prefix that makes a device's alert token of its VoIP token.
    static let alertPrefix = "aa"

    /// Returns one push token of a device, in hexadecimal digits, or the endpoint of a browser.
    static func pushToken(of device: DeviceID, _ kind: PushKind, _ count: Int) -> String {
        let number = String(1_000 + count)
        let digits = (Array(device.text.utf8) + Array(number.utf8)).map { String($0, radix: 16) }.joined()
        return kind == .web ? "https://fcm.googleapis.com/" + digits : digits
    }

    /// Returns a browser's subscription; nothing is encrypted in the simulation, so the keys are the same for all.
    private static func subscription(to endpoint: String) -> PushToken {
        .subscription(
            WebPushMember(
                endpoint: endpoint,
                p256dh: "BA" + String(repeating: "A", count: 85),
                auth: String(repeating: "A", count: 22)
            )
        )
    }

    var principal: Principal { Principal(user: user, fingerprint: fingerprint) }

    /// The device id that its app gives when it connects.
    var givenID: DeviceID? { isUnnamed ? nil : id }

    /// Whether its app can make requests: an unnamed one must know its id, and must not be gone.
    var makesRequests: Bool { !isUnnamed || hasAssignedID && !isGone }

    /// Gives an unnamed device the id in its `welcome`.
    func assign(_ id: DeviceID) {
        self.id = id
        hasAssignedID = true
    }

    /// Gives the app another bearer token; its socket stays open under the earlier one.
    func renewToken() { fingerprint = TokenFingerprint(rawValue: fingerprint.rawValue + 1_000) }
}

extension PushToken {
    /// The token as its app is given it: a subscription as `PushSubscription.toJSON()` writes it.
    var asGiven: String {
        switch self {
        case .plain(let token): token
        case .subscription(let web):
            #"{"endpoint":"\#(web.endpoint)","keys":{"p256dh":"\#(web.p256dh)","auth":"\#(web.auth)"}}"#
        }
    }
}

extension RegisteredRoute {
    /// The token as its app was given it.
    var asGiven: String {
        subscription.map {
            PushToken.subscription(WebPushMember(endpoint: $0.endpoint, p256dh: $0.p256dh, auth: $0.auth)).asGiven
        } ?? token
    }
}

extension DeviceRecord {
    /// The push token by which a device is rung first.
    var ringingToken: String? {
        [PushKind.voip, .firebase, .web, .alert].lazy.compactMap { self.token(for: $0) }.first
    }

    /// Returns whether the device has registered a push token.
    func has(_ token: String) -> Bool { routes.entries.contains { $0.value.token == token } }
}

/// The signals of one call that one app received.
struct Deliveries {
    var lastSeq: UInt64 = 0
    var signalKeys: Set<String> = []
    var seqs: Set<UInt64> = []
    /// The signals that have reached the device, whether or not the app has them.
    var arrived: Set<String> = []
    var arrivedSeqs: Set<UInt64> = []
    var describedDevices: Set<String> = []
    /// The callee of the call.
    ///
    /// After a crash another call can have the same callId and epoch, in the other direction.
    var callee: UserID?

    mutating func begin(for callee: UserID) {
        guard self.callee != callee else { return }
        if self.callee != nil { (lastSeq, signalKeys, seqs, describedDevices) = (0, [], [], []) }
        self.callee = callee
    }
}
