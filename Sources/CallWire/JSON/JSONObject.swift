/// The top level of one JSON object (RFC 8259), scanned in place: its members and the positions of their bytes.
///
/// The whole text is checked, down to the innermost value. Values that are not asked for are neither decoded nor
/// copied, so that they can be relayed unchanged.
public struct JSONObject: Sendable {
    /// The text that was scanned.
    public let bytes: [UInt8]
    /// The members in their order.
    ///
    /// Their names stay in the text.
    public let members: [Member]
    /// The range of the object in the text, braces included.
    public let range: Range<Int>
    /// The protocol's fields that are present.
    ///
    /// Most fields that are looked up are absent, and this set answers that fast.
    private var fields: FieldSet = []

    /// One member: the ranges of its name (without the quotes) and of its value.
    public struct Member: Equatable, Sendable {
        /// The range of the name without the quotes; escapes are left as written.
        public let name: Range<Int>
        /// The range of the value; a string's includes its quotes.
        public let value: Range<Int>
        /// The kind of the value.
        public let kind: Kind
        /// The field of the protocol that the member is; `nil` for others.
        public let field: Field?

        /// The range from the name's opening quote to the value's end.
        public var whole: Range<Int> { name.lowerBound - 1..<value.upperBound }
    }

    /// The kind of a JSON value.
    public enum Kind: Equatable, Sendable {
        /// An object.
        case object
        /// An array.
        case array
        /// A string; `isPlain` means without escapes.
        case string(isPlain: Bool)
        /// A number.
        case number
        /// `true`.
        case `true`
        /// `false`.
        case `false`
        /// `null`.
        case null
    }

    /// Scans a text that must be one object.
    ///
    /// `scratch`: The member list of an object that is no longer needed. Its memory is reused.
    /// - Throws: ``JSONFault`` if the text is not one object, is nested deeper than ``WireLimits/depth``, or contains a
    ///   field twice.
    public init(_ bytes: [UInt8], scratch: consuming [Member] = []) throws(JSONFault) {
        try self.init(bytes, in: 0..<bytes.count, scratch: consume scratch)
    }

    /// Scans an object in a part of a text, such as the value of a member.
    public init(_ bytes: [UInt8], in part: Range<Int>, scratch: consuming [Member] = []) throws(JSONFault) {
        let text = bytes.span
        var scanner = JSONScanner(at: part.lowerBound, end: part.upperBound)
        scanner.skipSpace(text)
        let start = scanner.position
        members = try scanner.objectMembers(text, into: consume scratch)
        range = start..<scanner.position
        scanner.skipSpace(text)
        guard scanner.position == part.upperBound else { throw .syntax }
        self.bytes = bytes
        for member in members {
            guard let field = member.field else { continue }
            // The server and the receiver might take a different one of two members with the same field.
            guard !fields.contains(field) else { throw .duplicate(field.name) }
            fields.insert(field)
        }
    }

    /// Returns the member of a field, unless it is absent or null.
    public subscript(_ field: Field) -> Member? {
        guard let member = member(field), member.kind != .null else { return nil }
        return member
    }

    /// Returns the member of a field, even if it is null.
    public func member(_ field: Field) -> Member? {
        guard fields.contains(field) else { return nil }
        for member in members where member.field == field { return member }
        return nil
    }

    /// Returns the decoded text of a member; `nil` if it is not a string or contains a lone surrogate.
    public func string(_ member: Member) -> String? {
        guard case .string(let isPlain) = member.kind else { return nil }
        let inner = member.value.lowerBound + 1..<member.value.upperBound - 1
        if isPlain { return String(decoding: bytes[inner], as: UTF8.self) }
        return JSONText.decoded(bytes[inner]).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns a member's name, decoded.
    public func name(of member: Member) -> String? {
        JSONText.decoded(bytes[member.name]).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns a whole number from 0 to 2^53 that is written without fraction or exponent; `nil` for any other value.
    public func integer(_ member: Member) -> Int64? {
        guard member.kind == .number, member.value.count <= 16 else { return nil }
        var number: Int64 = 0
        for byte in bytes[member.value] {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        return number <= 1 << 53 ? number : nil
    }
}

/// The reason why a text is not one JSON object.
public enum JSONFault: Error, Equatable, Sendable {
    /// The text breaks the grammar.
    case syntax
    /// The text is JSON, but not an object.
    case notAnObject
    /// The text is nested too deeply.
    case tooDeep
    /// A field of the protocol occurs twice.
    case duplicate(String)
    /// The text is not UTF-8.
    case notUTF8
}
