/// Why a text is not acceptable JSON.
///
/// It contains nothing of the text.
enum JSONError: Error, Equatable {
    case syntax
    case notUTF8
    case duplicateMember
    case tooDeep
}

/// A strict JSON parser (RFC 8259) for texts from senders that are not authenticated yet.
///
/// In addition to the grammar it refuses what two parsers could understand differently: a member's name that occurs
/// twice, an escape of half a surrogate pair, and broken UTF-8. Its recursion is bounded, and it reads each byte once.
struct JSONParser: ~Copyable {
    /// How deeply arrays and objects may be nested: the wire protocol's limit (protocol, section 8).
    static let maximumDepth = 32

    private let bytes: [UInt8]
    private var place = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the one value of a text, which may be surrounded by white space only.
    static func parse(_ bytes: [UInt8]) throws(JSONError) -> JSON {
        var parser = JSONParser(bytes)
        let value = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.next == nil else { throw .syntax }
        return value
    }

    private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        place += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSON {
        guard depth <= Self.maximumDepth else { throw .tooDeep }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func literal(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
        let fits = word.withUTF8Buffer { word in
            guard bytes.count - place >= word.count else { return false }
            for (offset, byte) in word.enumerated() where bytes[place + offset] != byte { return false }
            return true
        }
        guard fits else { throw .syntax }
        place += word.utf8CodeUnitCount
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONObject {
        place += 1
        var object = JSONObject()
        skipSpace()
        if skip(UInt8(ascii: "}")) { return object }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw .syntax }
            let name = try string()
            skipSpace()
            guard skip(UInt8(ascii: ":")) else { throw .syntax }
            guard object.add(name, try value(depth: depth + 1)) else { throw .duplicateMember }
            skipSpace()
            if skip(UInt8(ascii: "}")) { return object }
            guard skip(UInt8(ascii: ",")) else { throw .syntax }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSON] {
        place += 1
        var array: [JSON] = []
        skipSpace()
        if skip(UInt8(ascii: "]")) { return array }
        while true {
            array.append(try value(depth: depth + 1))
            skipSpace()
            if skip(UInt8(ascii: "]")) { return array }
            guard skip(UInt8(ascii: ",")) else { throw .syntax }
        }
    }

    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = place
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try digits() }
        if skip(UInt8(ascii: ".")) { try digits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            _ = skip(UInt8(ascii: "+")) || skip(UInt8(ascii: "-"))
            try digits()
        }
        return JSONNumber(literal: Array(bytes[start..<place]))
    }

    /// Skips one digit or more.
    private mutating func digits() throws(JSONError) {
        let start = place
        while let byte = next, (0x30...0x39).contains(byte) { place += 1 }
        guard place > start else { throw .syntax }
    }

    private mutating func string() throws(JSONError) -> [UInt8] {
        place += 1
        var text: [UInt8] = []
        while let byte = next {
            place += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard String(validating: text, as: UTF8.self) != nil else { throw .notUTF8 }
                return text
            case UInt8(ascii: "\\"):
                text.append(contentsOf: String(try escape()).utf8)
            case 0..<0x20:
                throw .syntax
            default:
                text.append(byte)
            }
        }
        throw .syntax
    }

    private mutating func escape() throws(JSONError) -> Character {
        guard let byte = next else { throw .syntax }
        place += 1
        switch byte {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return Character(try unicodeEscape())
        default: throw .syntax
        }
    }

    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let high = try fourDigits()
        if let scalar = Unicode.Scalar(high) { return scalar }
        // This is half of a surrogate pair: only a first half that is followed by a second half is a character.
        guard high < 0xDC00, skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) else { throw .syntax }
        let low = try fourDigits()
        guard (0xDC00...0xDFFF).contains(low) else { throw .syntax }
        guard let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)) else { throw .syntax }
        return scalar
    }

    private mutating func fourDigits() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next else { throw .syntax }
            switch byte {
            case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
            case 0x41...0x46: value = value << 4 | UInt32(byte - 0x37)
            case 0x61...0x66: value = value << 4 | UInt32(byte - 0x57)
            default: throw .syntax
            }
            place += 1
        }
        return value
    }
}
