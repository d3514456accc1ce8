/// The top level of one JSON object (RFC 8259), found and checked in place: which members, and where their bytes are.
///
/// The whole text is checked, to its last nested value; what is not asked for is neither decoded nor copied, so that it
/// can be relayed as it came.
public struct JSONObject: Sendable {
    /// The text that was scanned.
    public let bytes: [UInt8]
    /// The members in their order, with the names in place.
    public let members: [Member]
    /// Where the object's braces stand in the text.
    public let range: Range<Int>
    /// Which of the protocol's fields are there: most that are asked for are not.
    private var fields: FieldSet = []

    /// One member: where its name (between the quotes) and its value stand.
    public struct Member: Equatable, Sendable {
        /// The name's bytes without the quotes, escapes as written.
        public let name: Range<Int>
        /// The value's bytes; a string's include its quotes.
        public let value: Range<Int>
        /// What the value is.
        public let kind: Kind
        /// Which of the protocol's fields it is.
        public let field: Field?

        /// From the name's opening quote to the value's end.
        public var whole: Range<Int> { name.lowerBound - 1..<value.upperBound }
    }

    /// What a JSON value is.
    public enum Kind: Equatable, Sendable {
        /// An object.
        case object
        /// An array.
        case array
        /// A string; `isPlain` = without escapes.
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
    /// `scratch`: Where to keep the members: those of an object that is of no use any more, to spare the memory.
    /// - Throws: ``JSONFault`` when it is not, is nested deeper than ``WireLimits/depth``, or names a field twice.
    public init(_ bytes: [UInt8], scratch: consuming [Member] = []) throws(JSONFault) {
        try self.init(bytes, in: 0..<bytes.count, scratch: consume scratch)
    }

    /// Scans the object that stands in a part of a text, as a member's value does.
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
            // Twice the same field would mean one thing to us and perhaps another to the receiver.
            guard !fields.contains(field) else { throw .duplicate(field.name) }
            fields.insert(field)
        }
    }

    /// The member that is a field, unless it is absent or null.
    public subscript(_ field: Field) -> Member? {
        guard let member = member(field), member.kind != .null else { return nil }
        return member
    }

    /// The member that is a field, also when it is null.
    public func member(_ field: Field) -> Member? {
        guard fields.contains(field) else { return nil }
        for member in members where member.field == field { return member }
        return nil
    }

    /// The text of a member that is a string, decoded; `nil` when it is none or holds a lone surrogate.
    public func string(_ member: Member) -> String? {
        guard case .string(let isPlain) = member.kind else { return nil }
        let inner = member.value.lowerBound + 1..<member.value.upperBound - 1
        if isPlain { return String(decoding: bytes[inner], as: UTF8.self) }
        return JSONText.decoded(bytes[inner]).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A member's name, decoded.
    public func name(of member: Member) -> String? {
        JSONText.decoded(bytes[member.name]).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A member that is a whole number from 0 to 2^53, written without fraction or exponent; `nil` when it is none.
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

/// Why a text is not one JSON object.
public enum JSONFault: Error, Equatable, Sendable {
    /// It breaks the grammar.
    case syntax
    /// It is JSON, but no object.
    case notAnObject
    /// It is nested too deeply.
    case tooDeep
    /// A field of the protocol stands in it twice.
    case duplicate(String)
    /// It is not UTF-8.
    case notUTF8
}
