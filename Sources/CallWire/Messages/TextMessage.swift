public import CallCore

/// A text from one user to another, besides all calls: relayed, never kept.
public struct TextMessage: Equatable, Sendable {
    /// To whom.
    public var to: UserID
    /// What is said.
    public var body: String
    /// The sender's name as it is shown, cut to its limit.
    public var displayName: String?
    /// The members that are relayed as they came, comma between them, no braces.
    public var relayed: [UInt8]

    /// Reads `to`, `body` and `displayName?`; other members are relayed untouched.
    public init(_ object: JSONObject) throws(WireError) {
        guard let to = try object.user(.to) else { throw .invalid(.to, "is missing") }
        self.to = to
        body = try object.required(.body)
        displayName = try object.text(.displayName)?.cut(to: WireLimits.displayNameCharacters).unlessBlank
        relayed = object.copy(leavingOut: [.type, .id, .from, .fromDevice, .ts, .token, .callId, .room, .epoch, .seq])
        guard relayed.count <= WireLimits.infoBytes else {
            throw WireError(.tooLarge, "a message may have \(WireLimits.infoBytes) bytes", field: Field.body.name)
        }
    }

    /// Gives its sender another name than the client said, or none.
    public mutating func rename(_ name: String?) {
        displayName = name
        // It was written from such an object, so it is one.
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
