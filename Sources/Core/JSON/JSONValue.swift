/// A JSON value that is read as a whole, for texts from senders that are not authenticated yet, such as tokens.
///
/// In addition to checking the grammar (RFC 8259), it refuses texts that two parsers could understand differently. Such
/// a text contains an object, at any depth, with two members of the same name, or an escape of half a surrogate pair,
/// or malformed UTF-8.
///
/// Texts are kept as UTF-8 bytes. Swift compares strings by canonical equivalence, by which `K` and the Kelvin sign are
/// equal. In a claim of a token, `K` and the Kelvin sign must be different.
public enum JSONValue: Equatable, Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number.
    case number(JSONNumber)
    /// The content of a string as UTF-8, with escapes resolved.
    case string([UInt8])
    /// The elements of an array.
    case array([JSONValue])
    /// The members of an object.
    case object(JSONMembers)

    /// Reads the one value of a text; nothing but white space may surround the value.
    ///
    /// - Throws: ``JSONFault/syntax``, ``JSONFault/duplicateName``, ``JSONFault/notUTF8``, or ``JSONFault/tooDeep`` if
    ///   the text is nested deeper than ``JSONLimits/depth``.
    public init(_ bytes: [UInt8]) throws(JSONFault) {
        guard JSONText.isUTF8(bytes) else { throw .notUTF8 }
        var scanner = JSONScanner(at: 0)
        scanner.skipSpace(bytes.span)
        self = try scanner.decodedValue(bytes)
        scanner.skipSpace(bytes.span)
        guard scanner.position == bytes.count else { throw .syntax }
    }

    /// Whether every number in the value, at any depth, fits a `Double`.
    public var hasOnlyFiniteNumbers: Bool {
        switch self {
        case .number(let number): number.double.isFinite
        case .array(let elements): elements.allSatisfy { $0.hasOnlyFiniteNumbers }
        case .object(let members): members.allValues { $0.hasOnlyFiniteNumbers }
        case .null, .bool, .string: true
        }
    }

    /// The bytes of a string; `nil` for any other value.
    public var text: [UInt8]? {
        guard case .string(let bytes) = self else { return nil }
        return bytes
    }

    /// The strings of an array that contains only strings; `nil` for any other value.
    public var texts: [[UInt8]]? {
        guard case .array(let values) = self else { return nil }
        let texts = values.compactMap { $0.text }
        return texts.count == values.count ? texts : nil
    }
}

/// The members of a JSON object; no two have the same name.
public struct JSONMembers: Equatable, Sendable {
    private var members: [[UInt8]: JSONValue] = [:]

    /// Creates an object without members.
    public init() {}

    /// Returns whether a condition holds for the values of all members.
    func allValues(_ satisfies: (JSONValue) -> Bool) -> Bool { members.values.allSatisfy(satisfies) }

    /// Adds a member; returns false if there is already a member of that name.
    mutating func add(_ name: [UInt8], _ value: JSONValue) -> Bool {
        guard members[name] == nil else { return false }
        members[name] = value
        return true
    }

    /// The members, sorted by the bytes of their names.
    package var sorted: [(name: [UInt8], value: JSONValue)] {
        members.map { (name: $0.key, value: $0.value) }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    /// The member with this name, compared byte by byte; `nil` if there is none.
    public subscript(_ name: String) -> JSONValue? { members[Array(name.utf8)] }
}

/// A JSON number as it was written, because an id must not pass through a floating-point number.
public struct JSONNumber: Equatable, Sendable {
    /// The number's text: ASCII, valid by JSON's grammar.
    public let literal: [UInt8]

    /// The number's digits, however many, if it was written without sign, fraction and exponent; `nil` otherwise.
    public var digits: String? { literal.allSatisfy { (0x30...0x39).contains($0) } ? text : nil }

    /// The value; infinite if the number is too large for a `Double`.
    public var double: Double { Double(text) ?? (literal.first == UInt8(ascii: "-") ? -.infinity : .infinity) }

    private var text: String { String(decoding: literal, as: UTF8.self) }
}

extension JSONWriter {
    /// Writes a value: numbers as they were written, and the members of an object sorted by their names.
    package mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let flag): self.value(flag)
        case .number(let number): raw(number.literal)
        case .string(let bytes): self.value(String(decoding: bytes, as: UTF8.self))
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for (name, member) in members.sorted {
                self.name(escaping: String(decoding: name, as: UTF8.self))
                self.value(member)
            }
            endObject()
        }
    }
}

extension JSONScanner {
    /// Reads and decodes the value that begins here, and moves the position behind it.
    fileprivate mutating func decodedValue(_ bytes: [UInt8]) throws(JSONFault) -> JSONValue {
        let text = bytes.span
        switch byte(text) {
        case UInt8(ascii: "{"):
            var members = JSONMembers()
            var isEmpty = try open(text, UInt8(ascii: "}"))
            while !isEmpty {
                guard let name = JSONText.decoded(bytes[try memberName(text).0]) else { throw .syntax }
                guard members.add(name, try decodedValue(bytes)) else { throw .duplicateName }
                isEmpty = try isClosed(text, UInt8(ascii: "}"))
            }
            return .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONValue] = []
            var isEmpty = try open(text, UInt8(ascii: "]"))
            while !isEmpty {
                elements.append(try decodedValue(bytes))
                isEmpty = try isClosed(text, UInt8(ascii: "]"))
            }
            return .array(elements)
        default:
            let start = position
            switch try value(text) {
            case .null: return .null
            case .true: return .bool(true)
            case .false: return .bool(false)
            case .number: return .number(JSONNumber(literal: Array(bytes[start..<position])))
            case .string:
                guard let content = JSONText.decoded(bytes[start + 1..<position - 1]) else { throw .syntax }
                return .string(content)
            case .object, .array: preconditionFailure("a bracket was handled above")
            }
        }
    }
}
