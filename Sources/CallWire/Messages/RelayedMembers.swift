/// The members of a signal that go on as they came, comma between them; the bytes stay where they arrived.
public struct RelayedMembers: Sendable {
    /// Where they stand; `nil` = there are none.
    private let object: JSONObject?
    private let left: FieldSet
    /// How many bytes they are, the commas included.
    public let byteCount: Int

    /// None.
    public static let none = RelayedMembers()

    private init() {
        object = nil
        left = []
        byteCount = 0
    }

    /// An object's members but for some.
    public init(of object: JSONObject, but left: FieldSet) {
        self.object = object
        self.left = left
        var count = 0
        for member in object.members where !member.isOne(of: left) { count += member.whole.count + 1 }
        byteCount = max(0, count - 1)
    }

    /// Them, as bytes of their own.
    public var bytes: [UInt8] {
        var json = JSONWriter(capacity: byteCount)
        json.write(self)
        return json.bytes
    }

    fileprivate func forEach(_ body: (ArraySlice<UInt8>) -> Void) {
        guard let object else { return }
        for member in object.members where !member.isOne(of: left) { body(object.bytes[member.whole]) }
    }

    /// What the object's members were kept in, for the next object.
    public var scratch: [JSONObject.Member] { object?.members ?? [] }
}

extension JSONWriter {
    /// The members as they came.
    mutating func write(_ members: RelayedMembers) { members.forEach { raw($0) } }
}

extension JSONObject {
    /// The members but some, as they stand, comma between them.
    public func copy(leavingOut left: FieldSet) -> [UInt8] { RelayedMembers(of: self, but: left).bytes }
}

extension JSONObject.Member {
    fileprivate func isOne(of fields: FieldSet) -> Bool { field.map { fields.contains($0) } ?? false }
}
