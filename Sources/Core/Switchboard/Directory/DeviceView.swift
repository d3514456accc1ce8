import CallCore
import CallPorts
import CallWire

/// A user's devices, in the form in which responses show them to that user.
enum DeviceView {
    static func list(_ devices: [DeviceRecord]) -> [UInt8] { DeviceBody.list(devices.map(body)) }

    /// Returns the body of the response to a registration; `message` = a hint for the client that registered.
    static func one(_ device: DeviceRecord, message: String? = nil) -> [UInt8] { body(device).bytes(message: message) }

    private static func body(_ device: DeviceRecord) -> DeviceBody {
        var body = DeviceBody(
            id: device.id,
            isNamed: device.isNamed,
            platform: device.platform,
            bundleID: device.bundleID,
            createdAt: device.createdAt,
            seenAt: device.seenAt
        )
        for route in device.routes.entries {
            body.tokens[route.kind] =
                route.value.subscription.map {
                    .subscription(WebPushMember(endpoint: $0.endpoint, p256dh: $0.p256dh, auth: $0.auth))
                } ?? .plain(route.value.token)
        }
        body.installation = device.installation
        body.sound = device.sound
        body.payloadKeys = device.payloadKeys.map { PayloadAliases(text: $0) }
        body.environment = (device.workingEnvironment ?? device.environment)?.rawValue
        body.unansweredPushes = device.unansweredPushes
        body.wakesBy = (device.ringingPush ?? .voip).rawValue
        body.lastPush = device.lastPush.map {
            DeviceBody.Push(
                at: $0.at,
                status: $0.status,
                reason: $0.reason,
                environment: $0.environment?.rawValue,
                hint: $0.hint
            )
        }
        return body
    }
}
