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

    /// Returns the notice of a missed call.
    public static func missed(_ call: Call) -> [UInt8] {
        notice(call, type: "call.missed", title: "Missed call")
    }

    /// Returns the notice that takes the place of a ring's alert, because the call no longer rings on this device.
    ///
    /// `reason`: Why; `answered_elsewhere` and `declined_elsewhere` name another device of the same user.
    public static func over(_ call: Call, _ reason: EndReason) -> [UInt8] {
        let title =
            switch reason {
            case .answeredElsewhere: "Answered on another device"
            case .declinedElsewhere: "Declined on another device"
            default: "Call ended"
            }
        return notice(call, type: "call.over", title: title, isQuiet: true, reason)
    }

    /// The largest alert payload that APNs takes, in bytes ("Generating a remote notification", Apple).
    public static let alertBytes = 4_096

    /// Returns the notice of a text, which is cut until the payload fits.
    public static func text(_ message: TextMessage, from user: UserID, name: String?, at now: Moment) -> [UInt8] {
        var body = message.body
        while true {
            var json = JSONWriter(capacity: 512)
            json.beginObject()
            json.alert(name ?? user.text, body, thread: nil, .plain)
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
        isQuiet: Bool = false,
        _ reason: EndReason? = nil
    ) -> [UInt8] {
        var name = call.name ?? call.caller.text
        while true {
            let bytes = notice(call, name, type: type, title: title, isQuiet: isQuiet, reason)
            // A notice that APNs refuses would leave the alert of the ring on the screen.
            guard bytes.count > alertBytes, !name.isEmpty else { return bytes }
            name = name.cut(to: name.count / 2)
        }
    }

    private static func notice(
        _ call: Call,
        _ name: String,
        type: String,
        title: String,
        isQuiet: Bool,
        _ reason: EndReason?
    ) -> [UInt8] {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        json.alert(title, name, thread: call.caller.text, isQuiet ? .quiet : .plain)
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
        if let reason {
            json.name("reason")
            json.plain(reason.rawValue)
        }
        json.endObject()
        return json.bytes
    }
}

/// How much an alert disturbs the user.
enum AlertUrgency {
    /// It rings: it breaks through a focus, and offers to answer.
    case ring
    /// It sounds like any other notification.
    case plain
    /// It changes what is shown, without a sound.
    case quiet
}

extension JSONWriter {
    /// The notification category whose actions the app defines: answer and decline.
    static let ringCategory = "ringline.call"

    /// Writes the member `aps` of an alert ("Generating a remote notification", Apple).
    ///
    /// `thread`: Notifications with the same value are shown in one group.
    mutating func alert(_ title: String, _ body: String, thread: String?, _ urgency: AlertUrgency) {
        name("aps")
        beginObject()
        name("alert")
        beginObject()
        name("title")
        value(title)
        name("body")
        value(body)
        endObject()
        if let thread {
            name("thread-id")
            plain(thread)
        }
        switch urgency {
        case .ring:
            name("category")
            plain(Self.ringCategory)
            name("interruption-level")
            plain("time-sensitive")
        case .plain: break
        case .quiet:
            name("interruption-level")
            plain("passive")
        }
        if urgency != .quiet {
            name("sound")
            plain("default")
        }
        endObject()
    }
}
