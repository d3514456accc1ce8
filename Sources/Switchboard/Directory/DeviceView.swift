import CallCore
import CallPorts
import CallWire
import JSON

/// Devices as JSON for the user that registered them.
enum DeviceView {
    static func list(_ devices: [DeviceRecord]) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.beginArray()
        for device in devices { write(device, into: &json) }
        json.endArray()
        return json.bytes
    }

    /// Returns the answer to a registration; `message` = a hint for the client that registered.
    static func one(_ device: DeviceRecord, message: String? = nil) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        write(device, message: message, into: &json)
        return json.bytes
    }

    private static func write(_ device: DeviceRecord, message: String? = nil, into json: inout JSONWriter) {
        json.beginObject()
        if let message {
            json.name("message")
            json.value(message)
        }
        json.name("id")
        json.plain(device.id.text)
        json.name("deviceId")
        json.plain(device.id.text)
        json.name("named")
        json.value(device.isNamed)
        json.name("platform")
        json.value(device.platform)
        json.name("bundleId")
        json.value(device.bundleID)
        token("voipDeviceToken", device.voipToken, into: &json)
        token("apnsDeviceToken", device.alertToken, into: &json)
        token("fcm_token", device.fcmToken, into: &json)
        json.name("environment")
        if let environment = device.workingEnvironment ?? device.environment {
            json.plain(environment.rawValue)
        } else {
            json.null()
        }
        json.name("createdAt")
        json.value(device.createdAt.milliseconds)
        json.name("seenAt")
        json.value(device.seenAt.milliseconds)
        json.name("pushHealth")
        json.beginObject()
        json.name("unanswered")
        json.value(device.unansweredPushes)
        json.name("wakesBy")
        json.plain(
            device.unansweredPushes >= DeviceRecord.pushesUntilAlert && device.alertToken != nil ? "alert" : "voip"
        )
        json.endObject()
        json.name("lastPush")
        if let push = device.lastPush { write(push, into: &json) } else { json.null() }
        json.endObject()
    }

    private static func token(_ name: String, _ token: String?, into json: inout JSONWriter) {
        json.name(name)
        if let token { json.value(token) } else { json.null() }
    }

    private static func write(_ push: DeviceRecord.LastPush, into json: inout JSONWriter) {
        json.beginObject()
        json.name("at")
        json.value(push.at.milliseconds)
        json.name("status")
        json.value(push.status)
        json.name("reason")
        if let reason = push.reason { json.value(reason) } else { json.null() }
        json.name("environment")
        json.plain(push.environment.rawValue)
        json.name("hint")
        if let hint = push.hint { json.value(hint) } else { json.null() }
        json.endObject()
    }
}

/// Blocks as JSON for the app's list of contacts.
enum BlockView {
    static func list(_ blocks: [BlockRecord], for who: Who) -> [UInt8] {
        var json = JSONWriter(capacity: 1_024)
        json.beginArray()
        for block in blocks { write(block, for: who, into: &json) }
        json.endArray()
        return json.bytes
    }

    static func one(_ block: BlockRecord, for who: Who) -> [UInt8] {
        var json = JSONWriter()
        write(block, for: who, into: &json)
        return json.bytes
    }

    private static func write(_ block: BlockRecord, for who: Who, into json: inout JSONWriter) {
        json.beginObject()
        json.name("id")
        json.id(block.blocked, asInteger: who.userIsInteger)
        json.name("user_id")
        json.id(block.blocked, asInteger: who.userIsInteger)
        json.endObject()
    }
}
