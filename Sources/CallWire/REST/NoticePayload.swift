public import CallCore
import JSON

/// The payload of an alert push: a notice that the system shows (protocol, section 6).
public enum NoticePayload {
    /// The call that a notice is about.
    public struct Call: Sendable {
        /// The callId.
        public var id: CallID
        /// The epoch of the call.
        public var epoch: UInt32
        /// The calling user.
        public var caller: UserID
        /// The caller's displayed name; `nil` = the user id is shown.
        public var name: String?

        /// Creates a call with the given members.
        public init(id: CallID, epoch: UInt32, caller: UserID, name: String?) {
            self.id = id
            self.epoch = epoch
            self.caller = caller
            self.name = name
        }
    }

    /// The ring of an incoming call.
    public struct Ring: Sendable {
        /// The room as the caller named it.
        public var room: String
        /// Whether the call has video.
        public var hasVideo: Bool
        /// The UUID by which CallKit identifies the call.
        public var uuid: String
        /// When ringing stops.
        public var ringUntil: Moment

        /// Creates a ring with the given members.
        public init(room: String, hasVideo: Bool, uuid: String, ringUntil: Moment) {
            self.room = room
            self.hasVideo = hasVideo
            self.uuid = uuid
            self.ringUntil = ringUntil
        }
    }

    /// Returns the notice of an incoming call, for a device on which iOS withholds VoIP pushes.
    public static func incoming(_ call: Call, _ ring: Ring, at now: Moment) -> [UInt8] {
        notice(call, type: "call.incoming", title: "Incoming call") { json in
            json.name("room")
            json.plain(ring.room)
            json.name("hasVideo")
            json.value(ring.hasVideo)
            json.name("callUUID")
            json.plain(ring.uuid)
            json.name("sentAt")
            json.value(now.milliseconds)
            json.name("ringUntil")
            json.value(ring.ringUntil.milliseconds)
        }
    }

    /// Returns the notice of a missed call.
    public static func missed(_ call: Call) -> [UInt8] {
        notice(call, type: "call.missed", title: "Missed call") { _ in }
    }

    /// The largest alert payload that APNs takes, in bytes ("Generating a remote notification", Apple).
    private static let alertBytes = 4_096

    /// Returns the notice of a text, which is cut until the payload fits.
    public static func text(_ message: TextMessage, from user: UserID, name: String?, at now: Moment) -> [UInt8] {
        var body = message.body
        while true {
            var json = JSONWriter(capacity: 512)
            json.beginObject()
            json.alert(name ?? user.text, body)
            json.name("type")
            json.plain("message")
            json.name("fromUserId")
            json.plain(user.text)
            json.name("fromDisplayName")
            json.value(name ?? user.text)
            json.name("sentAt")
            json.value(now.milliseconds)
            json.endObject()
            guard json.bytes.count > alertBytes, !body.isEmpty else { return json.bytes }
            body = body.cut(to: body.count / 2)
        }
    }

    private static func notice(
        _ call: Call,
        type: String,
        title: String,
        _ more: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        let name = call.name ?? call.caller.text
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.alert(title, name)
        json.name("type")
        json.plain(type)
        json.name("callId")
        json.plain(call.id.text)
        json.name("epoch")
        json.value(call.epoch)
        json.name("fromUserId")
        json.plain(call.caller.text)
        json.name("fromDisplayName")
        json.value(name)
        more(&json)
        json.endObject()
        return json.bytes
    }
}

extension JSONWriter {
    /// Writes the member `aps`: the alert that the system shows, and its sound.
    fileprivate mutating func alert(_ title: String, _ body: String) {
        name("aps")
        beginObject()
        name("alert")
        beginObject()
        name("title")
        value(title)
        name("body")
        value(body)
        endObject()
        name("sound")
        plain("default")
        endObject()
    }
}
