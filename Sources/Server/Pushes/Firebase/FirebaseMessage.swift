import CallPorts
import JSON

/// The JSON body of a request to send a message.
///
/// The message has no `notification` block, which the system would show instead of handing the message to the app, and
/// no collapse key, because Firebase keeps at most four of them for a device.
enum FirebaseMessage {
    /// Returns the body of the request for a push that expires in `left` milliseconds.
    static func body(of push: OutgoingPush, left: Int64, onlyValidates: Bool) -> [UInt8] {
        var json = JSONWriter(capacity: push.payload.count + 512)
        json.beginObject()
        if onlyValidates {
            json.name("validate_only")
            json.value(true)
        }
        json.name("message")
        json.beginObject()
        json.name("token")
        json.value(push.route.token)
        json.name("data")
        json.raw(push.payload[...])
        json.name("android")
        json.beginObject()
        json.name("priority")
        json.plain("HIGH")
        json.name("ttl")
        json.plain("\(push.secondsKept(left: left))s")
        json.endObject()
        json.endObject()
        json.endObject()
        return json.bytes
    }
}
