public import CallCore
import JSON

/// The payload of a notice: an alert that the system shows, or a message of Firebase or Web Push (protocol, section 6).
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
        /// Whether the app's notification service extension may change the alert.
        public var isMutable: Bool

        /// Creates a call with the given members.
        public init(id: CallID, epoch: UInt32, caller: UserID, name: String?, isMutable: Bool = false) {
            self.id = id
            self.epoch = epoch
            self.caller = caller
            self.name = name
            self.isMutable = isMutable
        }
    }

    /// Returns the notice of a missed call.
    public static func missed(_ call: Call, as form: PushForm) -> [UInt8] {
        notice(call, form, type: "call.missed", title: "Missed call", .plain, nil)
    }

    /// Returns the notice that follows the push of a ring, because the call no longer rings on this device; an alert
    /// takes the place of the ring's alert.
    ///
    /// `reason`: Why; `answered_elsewhere` and `declined_elsewhere` name another device of the same user.
    public static func over(_ call: Call, _ reason: EndReason, as form: PushForm) -> [UInt8] {
        let title =
            switch reason {
            case .answeredElsewhere: "Answered on another device"
            case .declinedElsewhere: "Declined on another device"
            default: "Call ended"
            }
        return notice(call, form, type: "call.over", title: title, .quiet, reason)
    }

    /// Returns the notice of a text, which is cut until the payload fits.
    ///
    /// `isMutable`: Whether the app's notification service extension may change the alert.
    public static func text(
        _ message: TextMessage,
        from user: UserID,
        name: String?,
        as form: PushForm,
        isMutable: Bool = false,
        at now: Moment
    ) -> [UInt8] {
        fitting(message.body.shown() ?? "", form) { body in
            var writer = PushPayloadWriter(form, capacity: 512)
            if form == .alert { writer.addAlert(name ?? user.text, body, thread: nil, .plain, isMutable: isMutable) }
            writer.add("type", .text("message"))
            writer.add("fromUserId", .text(user.text))
            writer.add("fromDisplayName", .text(name ?? user.text))
            if form.isShownByApp { writer.add("body", .text(body)) }
            writer.add("sentAt", .number(now.milliseconds))
            return writer.finish()
        }
    }

    private static func notice(
        _ call: Call,
        _ form: PushForm,
        type: String,
        title: String,
        _ urgency: AlertUrgency,
        _ reason: EndReason?
    ) -> [UInt8] {
        // A notice that is refused would leave the ring of the device as it is.
        fitting(call.name ?? call.caller.text, form) { name in
            var writer = PushPayloadWriter(form, capacity: 512)
            if form == .alert {
                writer.addAlert(title, name, thread: call.caller.text, urgency, isMutable: call.isMutable)
            }
            writer.add("type", .text(type))
            writer.add("callId", .text(call.id.text))
            writer.add("epoch", .number(Int64(call.epoch)))
            writer.add("fromUserId", .text(call.caller.text))
            writer.add("fromDisplayName", .text(name))
            if let reason { writer.add("reason", .text(reason.rawValue)) }
            return writer.finish()
        }
    }

    /// Returns a notice with a text that is cut in half until the notice fits.
    private static func fitting(
        _ text: String,
        _ form: PushForm,
        _ write: (String) -> (bytes: [UInt8], size: Int)
    ) -> [UInt8] {
        var text = text
        while true {
            let (bytes, size) = write(text)
            guard size > form.limit, !text.isEmpty else { return bytes }
            // The cut may be between an isolate and its end.
            text = text.cut(to: text.count / 2).shown() ?? ""
        }
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
    /// `sound`: The name of the sound, a file in the app; `nil` = the system's.
    /// `isMutable`: Whether the app's notification service extension may change it before it is shown.
    mutating func alert(
        _ title: String,
        _ body: String,
        thread: String?,
        _ urgency: AlertUrgency,
        _ sound: String?,
        _ isMutable: Bool
    ) {
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
            value(sound ?? "default")
        }
        if isMutable {
            name("mutable-content")
            value(1)
        }
        endObject()
    }
}
