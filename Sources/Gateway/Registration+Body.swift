import CallCore
import CallPorts
import CallWire
import JSON
public import Switchboard

extension Switchboard.Registration {
    /// Reads the body of `PUT /api/me/devices` (protocol, section 5).
    init(body: [UInt8], device inAddress: DeviceID?) throws(WireError) {
        let object = try JSONObject.ofBody(body)
        let voip = try object.pushToken(.voipDeviceToken)
        let alert = try object.pushToken(.apnsDeviceToken)
        let firebase = try object.text(.fcm_token)
        if let firebase, !(1...4_096).contains(firebase.utf8.count) {
            throw .invalid(.fcm_token, "must be 1 to 4,096 bytes")
        }
        guard voip != nil || alert != nil || firebase != nil else {
            throw .invalid(.voipDeviceToken, "missing; give it, apnsDeviceToken or fcm_token")
        }
        let bundle = try object.text(.bundleId)
        if let bundle, !Self.isBundleID(bundle) {
            throw .invalid(.bundleId, "must be 1 to 155 characters of A–Z a–z 0–9 . -")
        }
        // A push's topic begins with the bundle id. The bundle id is required, because pushes went to wrong topics when
        // it was taken from a global setting.
        if voip != nil || alert != nil, bundle == nil { throw .invalid(.bundleId, "missing") }
        // An Android build in production sends its Firebase token and no other field.
        guard let platform = try object.text(.platform) ?? (voip == nil && alert == nil ? "android" : nil) else {
            throw .invalid(.platform, "missing")
        }
        guard (1...32).contains(platform.utf8.count) else { throw .invalid(.platform, "must be 1 to 32 bytes") }
        let environment: APNsEnvironment? =
            switch try object.text(.environment) {
            case nil: nil
            case "sandbox", "development": .sandbox
            case "production": .production
            default: throw .invalid(.environment, "must be sandbox or production")
            }
        self.init(
            voipToken: voip,
            alertToken: alert,
            fcmToken: firebase,
            bundleID: bundle ?? "",
            platform: platform,
            device: try object.device(.deviceId) ?? inAddress,
            environment: environment
        )
    }

    /// Returns whether a text is a valid bundle id: 1 to 155 of `A–Z a–z 0–9 . -`.
    public static func isBundleID(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "-"): true
                default: false
                }
            }
    }
}

extension JSONObject {
    /// Returns a push token: today the hex of 32 bytes, but Apple says not to rely on the length.
    fileprivate func pushToken(_ field: Field) throws(WireError) -> String? {
        guard let text = try text(field) else { return nil }
        let isHex = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
            default: false
            }
        }
        guard (16...512).contains(text.utf8.count), text.utf8.count % 2 == 0, isHex else {
            throw .invalid(field, "must be an even number of hexadecimal digits, 16 to 512")
        }
        return text.lowercased()
    }
}
