import JSON

/// The member `webPush` of a registration: what `PushSubscription.toJSON()` returns in a browser.
///
/// Source: "PushSubscription", W3C Push API.
public struct WebPushMember: Equatable, Sendable {
    /// The address that the browser's push service gave out.
    public var endpoint: String
    /// The browser's public key in base64url: 87 characters.
    public var p256dh: String
    /// The shared secret in base64url: 22 characters.
    public var auth: String

    /// A member with the given values.
    public init(endpoint: String, p256dh: String, auth: String) {
        self.endpoint = endpoint
        self.p256dh = p256dh
        self.auth = auth
    }

    /// Reads the member of a registration; `nil` if it is absent or null.
    init?(of registration: JSONObject) throws(WireError) {
        guard let member = try registration.unique("webPush") else { return nil }
        let object = try Self.object(member, "webPush", in: registration)
        guard let keysMember = try object.unique("keys") else { throw .invalid(named: "webPush.keys", "missing") }
        let keys = try Self.object(keysMember, "webPush.keys", in: object)
        self.init(
            endpoint: try Self.text("endpoint", of: object, "webPush.endpoint"),
            p256dh: try Self.key("p256dh", of: keys, characters: 87, bytes: 65),
            auth: try Self.key("auth", of: keys, characters: 22, bytes: 16)
        )
    }

    /// Writes the member's value.
    func write(into json: inout JSONWriter) {
        json.beginObject()
        json.name("endpoint")
        json.value(endpoint)
        json.name("keys")
        json.beginObject()
        json.name("p256dh")
        json.plain(p256dh)
        json.name("auth")
        json.plain(auth)
        json.endObject()
        json.endObject()
    }

    private static func object(
        _ member: JSONObject.Member,
        _ name: String,
        in outer: JSONObject
    ) throws(WireError) -> JSONObject {
        guard case .object = member.kind else { throw .invalid(named: name, "must be an object") }
        do { return try JSONObject(outer.bytes, names: .none, in: member.value) } catch { throw .json(error) }
    }

    private static func text(_ name: String, of object: JSONObject, _ path: String) throws(WireError) -> String {
        guard let member = try object.unique(name) else { throw .invalid(named: path, "missing") }
        guard let text = object.string(member) else { throw .invalid(named: path, "must be a string of valid Unicode") }
        return text
    }

    /// Returns a key; some browsers pad it, which the standard does not.
    private static func key(
        _ name: String,
        of keys: JSONObject,
        characters: Int,
        bytes: Int
    ) throws(WireError) -> String {
        var text = try text(name, of: keys, "webPush.keys.\(name)")
        while text.hasSuffix("="), text.utf8.count > characters { text.removeLast() }
        let isBase64URL = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
        guard text.utf8.count == characters, isBase64URL else {
            throw .invalid(
                named: "webPush.keys.\(name)",
                "must be \(bytes) bytes in base64url, \(characters) characters"
            )
        }
        return text
    }
}
