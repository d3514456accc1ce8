public import CallCore
public import JSON

/// A text from one user to another, outside of any call.
///
/// It is relayed, or shown by an alert push, and never stored.
public struct TextMessage: Equatable, Sendable {
    /// The user to whom the text is sent.
    public var to: UserID
    /// The text.
    public var body: String
    /// The sender's display name as it is shown; `nil` if nothing in it is visible.
    public var displayName: String?
    /// The members that are relayed unchanged, separated by commas, without braces.
    public var relayed: [UInt8]

    /// Reads `to`, `body` and `displayName?`.
    ///
    /// Other members are relayed unchanged.
    public init(_ object: JSONObject) throws(WireError) {
        guard let to = try object.user(.to) else { throw .invalid(.to, "missing") }
        self.to = to
        body = try object.required(.body)
        // An offline user would get an empty alert.
        guard body.shown() != nil else { throw .invalid(.body, "must have a visible character") }
        let written = try object.text(.displayName)
        displayName = written?.shown(upTo: WireLimits.displayNameCharacters)
        relayed = object.copy(leavingOut: [.type, .id, .from, .fromDevice, .ts, .token, .callId, .room, .epoch, .seq])
        guard relayed.count <= WireLimits.infoBytes else {
            throw WireError(.tooLarge, "body: at most \(WireLimits.infoBytes) bytes", field: Field.body.name)
        }
        if displayName != written { rename(displayName) }
    }

    /// Replaces the sender's display name by another one, or removes it.
    public mutating func rename(_ name: String?) {
        displayName = name
        // The bytes are members of an object that was parsed before, so that with braces they form an object again.
        guard let object = try? JSONObject([UInt8(ascii: "{")] + relayed + [UInt8(ascii: "}")]) else { return }
        var json = JSONWriter()
        json.beginObject()
        json.rawMembers(object.copy(leavingOut: [.displayName])[...])
        if let name {
            json.name("displayName")
            json.value(name)
        }
        json.endObject()
        relayed = Array(json.bytes.dropFirst().dropLast())
    }
}
