public import CallCore
public import JSON

/// The members of a signal that are relayed unchanged, separated by commas.
///
/// The list refers to the bytes of the received frame and does not copy them.
public struct RelayedMembers: Sendable {
    /// The object that contains the members; `nil` if there are no members.
    private let object: JSONObject?
    private let leftOut: FieldSet
    /// The size of the members in bytes, including the commas between them.
    public let byteCount: Int

    /// The empty list.
    public static let none = RelayedMembers()

    private init() {
        object = nil
        leftOut = []
        byteCount = 0
    }

    /// Creates the list of an object's members except those of some fields.
    public init(of object: JSONObject, but left: FieldSet) {
        self.object = object
        self.leftOut = left
        var count = 0
        for member in object.members where !left.contains(member) { count += member.whole.count + 1 }
        byteCount = max(0, count - 1)
    }

    /// Returns the list without the members of some more fields.
    func leavingOut(_ fields: FieldSet) -> RelayedMembers {
        object.map { RelayedMembers(of: $0, but: leftOut.union(fields)) } ?? self
    }

    /// Returns the list with members of some fields that `write` writes in place of the sender's.
    ///
    /// All other members keep their bytes.
    func replacing(_ fields: FieldSet, _ write: (inout JSONWriter) -> Void) -> RelayedMembers {
        var json = JSONWriter()
        json.beginObject()
        let others = leavingOut(fields)
        if others.byteCount > 0 { json.rawMembers(others.bytes[...]) }
        write(&json)
        json.endObject()
        // The members were read from an object, and those that are added are JSON.
        guard let object = try? JSONObject(json.bytes) else { return self }
        return RelayedMembers(of: object, but: leftOut.subtracting(fields))
    }

    /// A copy of the members as bytes.
    public var bytes: [UInt8] {
        var json = JSONWriter(capacity: byteCount)
        json.write(self)
        return json.bytes
    }

    /// Returns a field's value as written, even if it is left out; `nil` if it is absent or null.
    func value(of field: Field) -> ArraySlice<UInt8>? {
        guard let object, let member = object[field] else { return nil }
        return object.bytes[member.value]
    }

    /// Whether the object has a member, even if the member is left out.
    func contains(_ field: Field) -> Bool { object?[field] != nil }

    /// Returns the text of a member of the object, even if the member is left out; `nil` if it is absent or not a string.
    func text(of field: Field) -> String? {
        guard let object, let member = object.member(numbered: field.rawValue) else { return nil }
        return object.string(member)
    }

    /// Returns the phone numbers by which an offer shows its caller, in their normal form: none unless its `handleType` is
    /// `phoneNumber`.
    ///
    /// `caller`: The caller's user id, which callees are shown as the handle; in some apps it is a phone number.
    public func phoneNumbers(of caller: UserID) -> [PhoneNumber] {
        object?.phoneNumbers(of: caller) ?? []
    }

    fileprivate func forEach(_ body: (ArraySlice<UInt8>) -> Void) {
        guard let object else { return }
        for member in object.members where !leftOut.contains(member) { body(object.bytes[member.whole]) }
    }

    /// The memory that held the object's member list, for reuse by the next object.
    public var scratch: [JSONObject.Member] { object?.members ?? [] }
}

extension JSONObject {
    /// Returns the phone numbers by which this offer shows its caller (``RelayedMembers/phoneNumbers(of:)``).
    func phoneNumbers(of caller: UserID) -> [PhoneNumber] {
        guard text("handleType") == "phoneNumber" else { return [] }
        return [text("handle")?.shown(), caller.text].compactMap { text in
            text.flatMap { PhoneNumber(normalizing: $0) }
        }
    }
}

extension JSONWriter {
    /// Appends the members unchanged.
    mutating func write(_ members: RelayedMembers) { members.forEach { raw($0) } }
}

extension JSONObject {
    /// Returns a copy of the members except those of some fields, unchanged and separated by commas.
    public func copy(leavingOut left: FieldSet) -> [UInt8] { RelayedMembers(of: self, but: left).bytes }
}
