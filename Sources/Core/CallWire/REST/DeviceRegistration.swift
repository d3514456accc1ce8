public import CallCore
import JSON

/// The body of `PUT /api/me/devices`: the details that a device registers (protocol, section 5).
public struct DeviceRegistration: Equatable, Sendable {
    /// The push tokens.
    public var tokens: PushTable<PushToken>
    /// The id of the installation, on which several users may be signed in; `nil` = the client names none.
    public var installation: String?
    /// The name of the sound of an alert that rings; `nil` = the client names none.
    public var sound: String?
    /// Additional keys for the pushes of calls; `nil` = the client names none.
    public var payloadKeys: PayloadAliases?
    /// Whether the app's notification service extension may change alerts; `nil` = the client does not say.
    public var mutableContent: Bool?
    /// The app's bundle id; empty = the client named none.
    public var bundleID: String
    /// The platform, such as `ios` or `android`.
    public var platform: String
    /// The device id.
    public var device: DeviceID?
    /// The APNs environment of the tokens.
    public var environment: Environment?
    /// The names of members that the server does not know.
    public private(set) var unknownNames: [String] = []

    /// The APNs environment that a client names.
    public enum Environment: Sendable {
        /// For builds from Xcode: the client sends `sandbox` or `development`.
        case sandbox
        /// For TestFlight and the App Store: the client sends `production`.
        case production
    }

    /// Creates a registration with the given details; the other members are `nil`.
    public init(
        tokens: PushTable<PushToken> = [:],
        bundleID: String,
        platform: String,
        device: DeviceID? = nil,
        environment: Environment? = nil
    ) {
        self.tokens = tokens
        self.bundleID = bundleID
        self.platform = platform
        self.device = device
        self.environment = environment
    }

    /// Reads the body.
    ///
    /// `device`: The device id in the request's address, for a body that names none.
    public init(body: [UInt8], device inAddress: DeviceID?) throws(WireError) {
        let object = try JSONObject.ofBody(body)
        var tokens = PushTable<PushToken>()
        for kind in PushKind.allCases { tokens[kind] = try PushToken(kind, of: object) }
        guard !tokens.isEmpty else {
            let others = PushKind.allCases.dropFirst().map { $0.member }
            let list = others.dropLast().joined(separator: ", ") + " or " + (others.last ?? "")
            throw .invalid(.voipDeviceToken, "missing; give it, \(list)")
        }
        let bundle = try object.text(.bundleId)
        if let bundle, !Self.isBundleID(bundle) {
            throw .invalid(.bundleId, "must be 1 to 155 characters of A–Z a–z 0–9 . - _")
        }
        // A push's topic begins with the bundle id. The bundle id is required, because pushes went to wrong topics when
        // it was taken from a global setting.
        let isThroughAPNs = tokens.entries.contains { $0.kind.isThroughAPNs }
        if isThroughAPNs, bundle == nil { throw .invalid(.bundleId, "missing") }
        // An Android build in production sends its Firebase token and no other field.
        let onlyPlatform: String? =
            isThroughAPNs ? nil : tokens.has(.firebase) ? "android" : tokens.has(.web) ? "web" : nil
        guard let platform = try object.text(.platform) ?? onlyPlatform else { throw .invalid(.platform, "missing") }
        guard (1...32).contains(platform.utf8.count), Self.isPrintable(platform) else {
            throw .invalid(.platform, "must be 1 to 32 bytes without control characters")
        }
        let environment: Environment? =
            switch try object.text(.environment) {
            case nil: nil
            case "sandbox", "development": .sandbox
            case "production": .production
            default: throw .invalid(.environment, "must be sandbox or production")
            }
        self.init(
            tokens: tokens,
            bundleID: bundle.map(Self.withoutTopicSuffix) ?? "",
            platform: platform,
            device: try object.device(.deviceId) ?? inAddress,
            environment: environment
        )
        installation = try Self.installation(of: object)
        sound = try Self.sound(of: object)
        payloadKeys = try PayloadAliases(registered: object)
        mutableContent = try Self.mutableContent(of: object)
        unknownNames = object.members.compactMap { object.name(of: $0) }.filter { !Self.names.contains($0) }
    }

    private static let names =
        PushKind.allCases.map { $0.member } + [
            "bundleId", "platform", "deviceId", "environment", "installation", "sound", "payload", "mutableContent",
        ]

    private static func isPrintable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }

    /// Returns the id of the installation, which must not be easy to guess: whoever gives it with a push token shares
    /// the token.
    private static func installation(of object: JSONObject) throws(WireError) -> String? {
        guard let member = try object.unique("installation") else { return nil }
        guard let text = object.string(member), (16...64).contains(text.utf8.count), DeviceID(text) != nil else {
            throw .invalid(
                named: "installation",
                "must be a random id of 16 to 64 characters of \(CallCore.Limits.identifierCharacters)"
            )
        }
        return text
    }

    /// Returns the name of the sound, a file in the app; an empty one removes the name that was registered before.
    private static func sound(of object: JSONObject) throws(WireError) -> String? {
        guard let member = try object.unique("sound") else { return nil }
        guard let sound = object.string(member), sound.utf8.count <= 64, isPrintable(sound) else {
            throw .invalid(named: "sound", "must be the name of a sound of at most 64 bytes")
        }
        return sound
    }

    /// Returns whether the app has a notification service extension.
    private static func mutableContent(of object: JSONObject) throws(WireError) -> Bool? {
        switch try object.unique("mutableContent")?.kind {
        case nil: nil
        case .true: true
        case .false: false
        default: throw .invalid(named: "mutableContent", "must be true or false")
        }
    }

    /// Returns the bundle id without the suffix `.voip`, if the app gave the topic of its VoIP pushes instead.
    ///
    /// An app may be called `com.example.voip`, so `.voip` counts as the suffix only after three names or more.
    private static func withoutTopicSuffix(_ bundle: String) -> String {
        let names = bundle.split(separator: ".", omittingEmptySubsequences: false)
        guard names.count > 3, names.last?.lowercased() == "voip" else { return bundle }
        return names.dropLast().joined(separator: ".")
    }

    /// Returns whether a text is a valid bundle id, or the application id of an Android app: 1 to 155 of
    /// `A–Z a–z 0–9 . - _`.
    public static func isBundleID(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
