public import CallCore
import JSON

/// A device as its user sees it (protocol, section 5).
public struct DeviceBody: Sendable {
    /// The device's id.
    public var id: DeviceID
    /// Whether the client chose the id, and not the server.
    public var isNamed: Bool
    /// The platform, such as `ios` or `android`.
    public var platform: String
    /// The app's bundle id.
    public var bundleID: String
    /// The push tokens.
    public var tokens = PushTable<PushToken>()
    /// The id of the installation.
    public var installation: String?
    /// The name of the sound of an alert that rings.
    public var sound: String?
    /// Additional keys for the pushes of calls.
    public var payloadKeys: PayloadAliases?
    /// The APNs environment in use.
    public var environment: String?
    /// When the device was first registered.
    public var createdAt: Moment
    /// When the device last gave a sign of life.
    public var seenAt: Moment
    /// The number of VoIP pushes in a row that no sign of life followed.
    public var unansweredPushes: Int
    /// The kind of push that wakes the device, as `PushKind` names it.
    public var wakesBy: String
    /// The result of the last push.
    public var lastPush: Push?

    /// The result of a push.
    public struct Push: Sendable {
        /// When the result came.
        public var at: Moment
        /// The HTTP status of the push service's response; 0 when there was no response.
        public var status: Int
        /// The reason that the service gave, or, without a response, the server's own.
        public var reason: String?
        /// The APNs environment that was used; `nil` = the push did not go through APNs.
        public var environment: String?
        /// The meaning of the result and what to do, in plain words.
        public var hint: String?

        /// Creates a result with the given members.
        public init(at: Moment, status: Int, reason: String?, environment: String?, hint: String?) {
            self.at = at
            self.status = status
            self.reason = reason
            self.environment = environment
            self.hint = hint
        }
    }

    /// Creates a device without tokens and pushes.
    public init(id: DeviceID, isNamed: Bool, platform: String, bundleID: String, createdAt: Moment, seenAt: Moment) {
        self.id = id
        self.isNamed = isNamed
        self.platform = platform
        self.bundleID = bundleID
        self.createdAt = createdAt
        self.seenAt = seenAt
        unansweredPushes = 0
        wakesBy = "voip"
    }

    /// Returns devices as an array, in this order.
    public static func list(_ devices: [DeviceBody]) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.array(devices) { device, json in device.write(into: &json) }
        return json.bytes
    }

    /// Returns the response to a registration; `message` is a hint for the client that registered.
    public func bytes(message: String? = nil) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        write(message: message, into: &json)
        return json.bytes
    }

    private func write(message: String? = nil, into json: inout JSONWriter) {
        json.beginObject()
        if let message {
            json.name("message")
            json.value(message)
        }
        json.name("id")
        json.plain(id.text)
        json.name("deviceId")
        json.plain(id.text)
        json.name("named")
        json.value(isNamed)
        json.name("platform")
        json.value(platform)
        json.name("bundleId")
        json.value(bundleID)
        for kind in PushKind.allCases {
            json.name(kind.member)
            if let token = tokens[kind] { token.write(into: &json) } else { json.null() }
        }
        json.optional("installation", installation)
        json.optional("sound", sound)
        json.name("payload")
        if let payloadKeys, payloadKeys.count > 0 { Self.write(payloadKeys, into: &json) } else { json.null() }
        if payloadKeys?.isMutable == true {
            json.name("mutableContent")
            json.value(true)
        }
        json.optional("environment", environment)
        json.name("createdAt")
        json.value(createdAt.milliseconds)
        json.name("seenAt")
        json.value(seenAt.milliseconds)
        json.name("pushHealth")
        json.beginObject()
        json.name("unanswered")
        json.value(unansweredPushes)
        json.name("wakesBy")
        json.plain(wakesBy)
        json.endObject()
        json.name("lastPush")
        if let lastPush { Self.write(lastPush, into: &json) } else { json.null() }
        json.endObject()
    }

    private static func write(_ keys: PayloadAliases, into json: inout JSONWriter) {
        json.beginObject()
        for (key, member) in keys.keys {
            json.name(key)
            json.plain(member.rawValue)
        }
        json.endObject()
    }

    private static func write(_ push: Push, into json: inout JSONWriter) {
        json.beginObject()
        json.name("at")
        json.value(push.at.milliseconds)
        json.name("status")
        json.value(push.status)
        json.optional("reason", push.reason)
        json.optional("environment", push.environment)
        json.optional("hint", push.hint)
        json.endObject()
    }
}

/// The users and numbers that a user blocks, for the app's list of contacts.
public enum BlockBody {
    /// Returns blocked users and then blocked numbers as one array, in this order.
    ///
    /// `asIntegers`: Whether user ids are written as integers.
    public static func list(_ users: [UserID], _ numbers: [PhoneNumber] = [], asIntegers: Bool) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.beginArray()
        for user in users { write(user, asIntegers, into: &json) }
        for number in numbers { write(number, into: &json) }
        json.endArray()
        return json.bytes
    }

    /// Returns one blocked number as an object.
    public static func one(_ number: PhoneNumber) -> [UInt8] {
        var json = JSONWriter()
        write(number, into: &json)
        return json.bytes
    }

    /// The id of a row begins so if the row is a number; its digits follow.
    public static let numberPrefix = "number:"

    private static func write(_ number: PhoneNumber, into json: inout JSONWriter) {
        json.beginObject()
        json.name("id")
        json.plain(numberPrefix + number.text)
        json.name("number")
        json.plain(number.text)
        json.endObject()
    }

    /// Returns one blocked user as an object.
    ///
    /// `asInteger`: Whether the user id is written as an integer.
    public static func one(_ user: UserID, asInteger: Bool) -> [UInt8] {
        var json = JSONWriter()
        write(user, asInteger, into: &json)
        return json.bytes
    }

    private static func write(_ user: UserID, _ asInteger: Bool, into json: inout JSONWriter) {
        json.beginObject()
        json.name("id")
        json.id(user, asInteger: asInteger)
        json.name("user_id")
        json.id(user, asInteger: asInteger)
        json.endObject()
    }
}

extension JSONWriter {
    fileprivate mutating func optional(_ name: String, _ text: String?) {
        self.name(name)
        if let text { value(text) } else { null() }
    }
}
