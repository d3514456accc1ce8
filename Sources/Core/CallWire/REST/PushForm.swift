import JSON

/// The form of a push's payload.
public enum PushForm: Sendable {
    /// JSON for APNs that wakes the app.
    case voip
    /// JSON for APNs that the system shows.
    case alert
    /// The object `data` of a Firebase message: all values are strings, and there are no objects in it.
    case data
    /// JSON for the service worker of a page.
    case web

    /// The largest size, in bytes: of the JSON for APNs and Web Push, of all names and values together for Firebase.
    ///
    /// For Web Push it is what one encrypted record of 4,096 bytes can hold.
    ///
    /// Sources: "Generating a remote notification", Apple; "About FCM messages", Firebase; RFC 8291, section 4.
    public var limit: Int {
        switch self {
        case .voip: 5_120
        case .alert, .data: 4_096
        case .web: 3_993
        }
    }

    /// Whether the app, not the system, shows a notice in this form.
    var isShownByApp: Bool { self == .data || self == .web }
}

/// Writes a push's payload, and counts its size.
struct PushPayloadWriter {
    private let form: PushForm
    private var json: JSONWriter
    /// The bytes of all names and values; used for Firebase only.
    private var dataBytes = 0

    init(_ form: PushForm, capacity: Int) {
        self.form = form
        json = JSONWriter(capacity: capacity)
        json.beginObject()
    }

    /// Adds the member `aps` of a push that wakes the app and shows nothing.
    mutating func addContentAvailable() {
        json.name("aps")
        json.beginObject()
        json.name("content-available")
        json.value(1)
        json.endObject()
    }

    /// Adds the member `aps` of an alert; see `JSONWriter.alert`.
    ///
    /// `sound`: The name of the sound of an alert that rings; `nil` = the system's.
    mutating func addAlert(
        _ title: String,
        _ body: String,
        thread: String?,
        _ urgency: AlertUrgency,
        sound: String? = nil,
        isMutable: Bool
    ) {
        json.alert(title, body, thread: thread, urgency, sound, isMutable)
    }

    /// Adds a member.
    mutating func add(_ name: String, _ value: PayloadAliases.Value) {
        json.name(name)
        switch value {
        case .text(let text): addText(name, text)
        case .number(let number): if form == .data { addText(name, String(number)) } else { json.value(number) }
        case .flag(let flag): if form == .data { addText(name, flag ? "true" : "false") } else { json.value(flag) }
        }
    }

    /// Adds a member whose value is JSON already; in a Firebase message it must be a string.
    mutating func add(_ name: String, encoded: ArraySlice<UInt8>) {
        json.name(name)
        json.raw(encoded)
        guard form == .data else { return }
        let inner = encoded.dropFirst().dropLast()
        dataBytes += name.utf8.count + (JSONText.decoded(inner)?.count ?? inner.count)
    }

    /// Adds the keys that an app wants; `value` returns `nil` for a member that the payload does not have.
    mutating func add(_ aliases: PayloadAliases, value: (PayloadAliases.Member) -> PayloadAliases.Value?) {
        guard form == .data else { return aliases.write(into: &json, value: value) }
        for (key, member) in aliases.keys where !Self.isReserved(key) {
            if let value = value(member) { add(key, value) }
        }
    }

    private mutating func addText(_ name: String, _ text: String) {
        json.value(text)
        dataBytes += name.utf8.count + text.utf8.count
    }

    /// Returns whether Firebase refuses a message with this key in `data`.
    private static func isReserved(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google") || key.hasPrefix("gcm")
    }

    /// Ends the payload, and returns it with its size as ``PushForm/limit`` counts it.
    consuming func finish() -> (bytes: [UInt8], size: Int) {
        json.endObject()
        return (json.bytes, form == .data ? dataBytes : json.bytes.count)
    }
}
