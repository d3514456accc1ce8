/// The top level of one JSON object (RFC 8259), scanned in place: its members and the positions of their bytes.
///
/// The whole text is checked, down to the innermost value. Values that are not asked for are neither decoded nor
/// copied, so that they can be relayed unchanged.
public struct JSONObject: Sendable {
    /// The text that was scanned.
    public let bytes: [UInt8]
    /// The members in their order.
    ///
    /// A member has the positions of its name and value in the text, not copies of them.
    public let members: [Member]
    /// The range of the object in the text, braces included.
    public let range: Range<Int>
    /// The numbers of the known members that are present, as a set with one bit for each number.
    ///
    /// Most members that are looked up are absent, which this set shows quickly.
    @usableFromInline let numbers: UInt64

    /// One member: the ranges of its name (without the quotes) and of its value.
    public struct Member: Equatable, Sendable {
        /// The range of the name without the quotes; escapes are left as written.
        public let name: Range<Int>
        /// The range of the value; a string's includes its quotes.
        public let value: Range<Int>
        /// The kind of the value.
        public let kind: Kind
        /// The number of the name in the reader's ``MemberNames``; `nil` for other names.
        public let number: UInt8?

        /// The range from the name's opening quote to the value's end.
        @inlinable public var whole: Range<Int> { name.lowerBound - 1..<value.upperBound }
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

    /// Scans an object in a part of a text, which contains nothing else but whitespace.
    ///
    /// - Parameters:
    ///   - bytes: the text.
    ///   - names: the names whose members get a number, and that must not occur twice.
    ///   - part: the range of the part, such as the value of a member.
    ///   - scratch: the member list of an object that is no longer needed. Its memory is reused.
    /// - Throws: ``JSONFault`` if the part is not one object, is nested deeper than ``JSONLimits/depth``, or contains
    ///   one of the `names` twice.
    public init(
        _ bytes: [UInt8],
        names: borrowing MemberNames,
        in part: Range<Int>,
        scratch: consuming [Member] = []
    ) throws(JSONFault) {
        // `names` is borrowed. An initialiser would otherwise consume the table, and the table's references would be
        // counted for each object.
        let text = bytes.span.extracting(0..<part.upperBound)
        var scanner = JSONScanner(at: part.lowerBound)
        scanner.skipSpace(text)
        let start = scanner.position
        let (members, numbers, duplicate) = try scanner.object(text, names, into: consume scratch)
        range = start..<scanner.position
        scanner.skipSpace(text)
        guard scanner.position == part.upperBound else { throw .syntax }
        // If two members have the same name, the server might use one of them and the receiver the other.
        if let duplicate { throw .duplicate(names.texts[Int(duplicate)]) }
        self.bytes = bytes
        self.members = members
        self.numbers = numbers
    }

    /// Scans a text that must be one object.
    ///
    /// - Throws: ``JSONFault``, as for a part of a text.
    public init(_ bytes: [UInt8], names: borrowing MemberNames) throws(JSONFault) {
        try self.init(bytes, names: names, in: 0..<bytes.count)
    }

    /// Whether at least one member has no number.
    @inlinable public var hasUnnumberedMember: Bool { members.count != numbers.nonzeroBitCount }

    @inlinable @inline(__always)
    func isPresent(_ number: UInt8) -> Bool { numbers >> UInt64(number) & 1 == 1 }

    /// Returns whether at least one member has a number in a set, given as one bit for each number.
    @inlinable
    public func hasMember(numberedIn set: UInt64) -> Bool { numbers & set != 0 }

    /// Returns the member whose name has this number, even if it is null; `nil` if it is absent.
    @inlinable
    public func member(numbered number: UInt8) -> Member? {
        guard isPresent(number) else { return nil }
        for member in members where member.number == number { return member }
        return nil
    }

    /// Scans a member that is an array; `nil` if it is not an array.
    public func array(_ member: Member) -> JSONArray? {
        guard case .array = member.kind else { return nil }
        return try? JSONArray(bytes, in: member.value)  // The grammar was checked with the whole text.
    }

    /// Returns the decoded text of a member; `nil` if it is not a string or contains a lone surrogate.
    public func string(_ member: Member) -> String? {
        guard case .string(let isPlain) = member.kind else { return nil }
        let inner = member.value.lowerBound + 1..<member.value.upperBound - 1
        if isPlain { return String(decoding: bytes[inner], as: UTF8.self) }
        return JSONText.decoded(bytes[inner]).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the range of a string without its quotes; `nil` if the member is not a string or has escapes.
    @inlinable
    public func plainText(_ member: Member) -> Range<Int>? {
        guard case .string(isPlain: true) = member.kind else { return nil }
        return member.value.lowerBound + 1..<member.value.upperBound - 1
    }

    /// Returns the number that the text of a member has among `texts`; `nil` if it has none or is not a string.
    public func number(ofText member: Member, in texts: borrowing MemberNames) -> UInt8? {
        guard case .string(let isPlain) = member.kind else { return nil }
        let inner = member.value.lowerBound + 1..<member.value.upperBound - 1
        return texts.number(of: inner, in: bytes.span, isPlain: isPlain)
    }

    /// Returns a member's name, decoded; `nil` if the name contains a lone surrogate.
    public func name(of member: Member) -> String? {
        JSONText.decoded(bytes[member.name]).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns a whole number from 0 to 2^53 that is written without fraction or exponent; `nil` for any other value.
    public func integer(_ member: Member) -> Int64? {
        guard case .number = member.kind, member.value.count <= 16 else { return nil }
        var number: Int64 = 0
        for byte in bytes[member.value] {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        return number <= 1 << 53 ? number : nil
    }
}
