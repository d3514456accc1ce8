public import CallCore
import JSON

extension PushKind {
    /// The member that has the push token, in a registration and in a device's body (protocol, section 5).
    public var member: String {
        switch self {
        case .voip: "voipDeviceToken"
        case .alert: "apnsDeviceToken"
        case .firebase: "fcm_token"
        case .web: "webPush"
        }
    }

    /// The form of the payload that a push of this kind has.
    public var form: PushForm {
        switch self {
        case .voip: .voip
        case .alert: .alert
        case .firebase: .data
        case .web: .web
        }
    }
}

/// A push token as a client registers it.
public enum PushToken: Equatable, Sendable {
    /// The token of a service that needs nothing else; that of APNs in lower-case hex.
    case plain(String)
    /// A browser's subscription.
    case subscription(WebPushMember)

    /// The token; for Web Push the subscription's endpoint.
    public var text: String {
        switch self {
        case .plain(let token): token
        case .subscription(let web): web.endpoint
        }
    }

    /// Reads the member of a registration that has the token of this kind; `nil` if it is absent or null.
    init?(_ kind: PushKind, of registration: JSONObject) throws(WireError) {
        let text: String?
        switch kind {
        case .voip: text = try registration.apnsToken(.voipDeviceToken)
        case .alert: text = try registration.apnsToken(.apnsDeviceToken)
        case .firebase:
            text = try registration.text(.fcm_token)
            if let text, !(1...4_096).contains(text.utf8.count) || !text.utf8.allSatisfy(Self.isVisible) {
                throw .invalid(.fcm_token, "must be 1 to 4,096 visible ASCII characters")
            }
        case .web:
            guard let web = try WebPushMember(of: registration) else { return nil }
            self = .subscription(web)
            return
        }
        guard let text else { return nil }
        self = .plain(text)
    }

    private static func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

    /// Writes the member's value.
    func write(into json: inout JSONWriter) {
        switch self {
        case .plain(let token): json.value(token)
        case .subscription(let web): web.write(into: &json)
        }
    }
}

extension JSONObject {
    /// Returns a push token of APNs: today the hex of 32 bytes, but Apple says not to rely on the length.
    fileprivate func apnsToken(_ field: Field) throws(WireError) -> String? {
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
