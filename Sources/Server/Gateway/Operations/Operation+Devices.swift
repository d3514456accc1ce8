import CallCore
import CallWire
import Crypto
import LibWebSockets
import Switchboard

extension Operation {
    /// The user's devices.
    static let devices = [
        Operation("GET", "/api/me/devices", bearer: .user, parameters: []) { _ in .devices(.list) },
        Operation("PUT", "/api/me/devices", bearer: .user, body: .json, read: register),
        Operation("POST", "/api/me/devices", bearer: .user, body: .json, read: register),
        Operation("DELETE", "/api/me/devices/{deviceId}", bearer: .user) { content throws(WireError) in
            guard let device = DeviceID(content[.device]) else { throw WireError(.notFound, "no such device") }
            return .devices(.remove(device))
        },
    ]

    @Sendable
    private static func register(_ content: Content) throws(WireError) -> Switchboard.Request {
        let registration = try DeviceRegistration(body: content.body, device: try content.head.device())
        if case .subscription(let web)? = registration.tokens[.web] { try web.checkKeys() }
        return .devices(.register(registration))
    }
}

extension WebPushMember {
    /// Refuses keys with which no message can be encrypted.
    fileprivate func checkKeys() throws(WireError) {
        // The key error says no more than that the point is not on the curve.
        guard let point = Base64URL.decode(p256dh), (try? PublicKey(p256Point: point)) != nil else {
            throw .invalid(named: "webPush.keys.p256dh", "must be a point on P-256")
        }
        guard Base64URL.decode(auth) != nil else {
            throw .invalid(named: "webPush.keys.auth", "must be 16 bytes in canonical base64url, 22 characters")
        }
    }
}
