public import JSON

/// The member names to which the protocol gives a meaning.
///
/// All others belong to the app and are relayed unchanged.
public enum Field: UInt8, CaseIterable, Sendable {
    // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
    case type, id, callId, room, to, epoch, sdp, hasVideo, displayName, ringTimeout, candidate, reason, hold,
        audioMuted,
        videoMuted, digits, data, token, calls, from, fromDevice, seq, ts, callUUID, ringUntil, waiting, deviceId,
        action, signalType, user_id, userId, blocked_user_id, voipDeviceToken, apnsDeviceToken, fcm_token, bundleId,
        platform, environment, until, callee_id, call_type, begin, body, shown, why, priority,
        confirm, scheduled, handle, handleType

    /// The name in JSON.
    public var name: String { Self.names.texts[Int(rawValue)] }

    /// The names of all fields; the number of a name is the field's raw value.
    ///
    /// They are written out because `"\(self)"` needs reflection, which embedded Swift does not have: there it returns
    /// another text. A test compares them with the cases.
    static let names = MemberNames([
        "type", "id", "callId", "room", "to", "epoch", "sdp", "hasVideo", "displayName", "ringTimeout", "candidate",
        "reason", "hold", "audioMuted", "videoMuted", "digits", "data", "token", "calls", "from", "fromDevice", "seq",
        "ts", "callUUID", "ringUntil", "waiting", "deviceId", "action", "signalType", "user_id", "userId",
        "blocked_user_id", "voipDeviceToken", "apnsDeviceToken", "fcm_token", "bundleId", "platform", "environment",
        "until", "callee_id", "call_type", "begin", "body", "shown", "why", "priority", "confirm",
        "scheduled", "handle", "handleType",
    ])
}

/// A set of fields.
public struct FieldSet: ExpressibleByArrayLiteral, Sendable {
    fileprivate private(set) var bits: UInt64 = 0

    /// Creates a set of these fields.
    public init(arrayLiteral fields: Field...) { for field in fields { insert(field) } }

    /// Returns whether the set contains a field.
    @inline(__always)
    public func contains(_ field: Field) -> Bool { bits >> UInt64(field.rawValue) & 1 == 1 }

    /// Returns whether the set contains the field of a member.
    @inline(__always)
    func contains(_ member: JSONObject.Member) -> Bool {
        guard let number = member.number else { return false }
        return bits >> UInt64(number) & 1 == 1
    }

    /// Adds a field to the set.
    @inline(__always)
    public mutating func insert(_ field: Field) { bits |= 1 << UInt64(field.rawValue) }

    /// Adds all fields of another set.
    public mutating func formUnion(_ others: FieldSet) { bits |= others.bits }

    /// Returns the set without the fields of another one.
    func subtracting(_ others: FieldSet) -> FieldSet {
        var rest = self
        rest.bits &= ~others.bits
        return rest
    }

    /// Returns the union of both sets.
    public func union(_ others: FieldSet) -> FieldSet {
        var all = self
        all.formUnion(others)
        return all
    }
}

/// Objects of the protocol. The number of a member is the raw value of its field.
extension JSONObject {
    /// Scans a text that must be one object of the protocol.
    ///
    /// `scratch`: The member list of an object that is no longer needed. Its memory is reused.
    /// - Throws: `JSONFault` if the text is not one object, is nested deeper than ``WireLimits/depth``, or contains a
    ///   field twice.
    public init(_ bytes: [UInt8], scratch: consuming [Member] = []) throws(JSONFault) {
        try self.init(bytes, names: Field.names, in: 0..<bytes.count, scratch: consume scratch)
    }

    /// Scans an object of the protocol in a part of a text, such as the value of a member.
    public init(_ bytes: [UInt8], in part: Range<Int>) throws(JSONFault) {
        try self.init(bytes, names: Field.names, in: part)
    }

    /// Returns the member of a field, unless it is absent or null.
    public subscript(_ field: Field) -> Member? {
        guard let member = member(field) else { return nil }
        if case .null = member.kind { return nil }
        return member
    }

    /// Returns whether at least one field of a set is present, even if it is null.
    @inline(__always)
    func contains(anyOf fields: FieldSet) -> Bool { hasMember(numberedIn: fields.bits) }

    /// Returns the member of a field, even if it is null.
    public func member(_ field: Field) -> Member? { member(numbered: field.rawValue) }
}
