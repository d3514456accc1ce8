/// A JSON value in a token.
///
/// Texts are kept as UTF-8 bytes. Swift compares strings by canonical equivalence, by which `K` and the Kelvin sign are
/// equal. In a claim they must be different.
enum JSON: Equatable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string([UInt8])
    case array([JSON])
    case object(JSONObject)

    /// The bytes of a string; nil for any other value.
    var text: [UInt8]? {
        guard case .string(let bytes) = self else { return nil }
        return bytes
    }

    /// The strings of an array that contains only strings; nil for any other value.
    var texts: [[UInt8]]? {
        guard case .array(let values) = self else { return nil }
        let texts = values.compactMap(\.text)
        return texts.count == values.count ? texts : nil
    }
}

/// The members of a JSON object; no two have the same name.
struct JSONObject: Equatable {
    private(set) var members: [[UInt8]: JSON] = [:]

    /// Adds a member; returns false if there is already a member of that name.
    mutating func add(_ name: [UInt8], _ value: JSON) -> Bool {
        guard members[name] == nil else { return false }
        members[name] = value
        return true
    }

    /// The member with this name, compared byte by byte.
    subscript(_ name: String) -> JSON? { members[Array(name.utf8)] }
}

/// A JSON number as it was written, because an id must not pass through a floating-point number.
struct JSONNumber: Equatable {
    /// The number's text: ASCII, valid by JSON's grammar.
    let literal: [UInt8]

    /// The value if it was written without sign, fraction and exponent and fits; nil otherwise.
    var nonNegativeInteger: Int64? { literal.first == 0x2D ? nil : Int64(text) }

    /// The value; infinite if it is too large for a `Double`.
    var double: Double { Double(text) ?? .infinity }

    private var text: String { String(decoding: literal, as: UTF8.self) }
}
