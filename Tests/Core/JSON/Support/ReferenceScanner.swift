@testable import JSON

/// A scanner of JSON objects that reads byte by byte, with the same results as `JSONObject`.
struct ReferenceScanner {
    private let text: [UInt8]
    private let end: Int
    private var position: Int
    private var depth = 0

    /// The parts of an object that is accepted.
    struct Object: Equatable {
        var members: [JSONObject.Member] = []
        var range = 0..<0
    }

    static func object(_ text: [UInt8], _ names: [String], in part: Range<Int>) throws(JSONFault) -> Object {
        var scanner = ReferenceScanner(text: text, end: part.upperBound, position: part.lowerBound)
        var object = Object()
        scanner.skipSpace()
        let start = scanner.position
        object.members = try scanner.objectMembers(names)
        object.range = start..<scanner.position
        scanner.skipSpace()
        guard scanner.position == part.upperBound else { throw .syntax }
        var found: Set<UInt8> = []
        for number in object.members.compactMap(\.number) where !found.insert(number).inserted {
            throw .duplicate(names[Int(number)])
        }
        return object
    }

    private var next: UInt8? { position < end ? text[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x0A, 0x0D, 0x09].contains(byte) { position += 1 }
    }

    private mutating func require(_ byte: UInt8) throws(JSONFault) {
        guard next == byte else { throw .syntax }
        position += 1
    }

    private mutating func objectMembers(_ names: [String]) throws(JSONFault) -> [JSONObject.Member] {
        guard next == UInt8(ascii: "{") else {
            _ = try value()
            throw .notAnObject
        }
        var members: [JSONObject.Member] = []
        try items(until: UInt8(ascii: "}")) { (scanner: inout Self) throws(JSONFault) in
            let name = try scanner.name()
            let start = scanner.position
            let kind = try scanner.value()
            let decoded = JSONText.decoded(scanner.text[name]).map { String(decoding: $0, as: UTF8.self) }
            let number = decoded.flatMap { name in names.firstIndex { Array($0.utf8) == Array(name.utf8) } }
            let member = JSONObject.Member(
                name: name,
                value: start..<scanner.position,
                kind: kind,
                number: number.map { UInt8($0) }
            )
            members.append(member)
        }
        return members
    }

    private mutating func items(
        until close: UInt8,
        _ item: (inout Self) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        depth += 1
        guard depth <= JSONLimits.depth else { throw .tooDeep }
        position += 1
        skipSpace()
        if next != close {
            while true {
                try item(&self)
                skipSpace()
                if next == close { break }
                try require(UInt8(ascii: ","))
                skipSpace()
            }
        }
        position += 1
        depth -= 1
    }

    private mutating func name() throws(JSONFault) -> Range<Int> {
        let start = position + 1
        _ = try string()
        let name = start..<position - 1
        skipSpace()
        try require(UInt8(ascii: ":"))
        skipSpace()
        return name
    }

    private mutating func value() throws(JSONFault) -> JSONObject.Kind {
        switch next {
        case UInt8(ascii: "{"):
            try items(until: UInt8(ascii: "}")) { (scanner: inout Self) throws(JSONFault) in
                _ = try scanner.name()
                _ = try scanner.value()
            }
            return .object
        case UInt8(ascii: "["):
            try items(until: UInt8(ascii: "]")) { (scanner: inout Self) throws(JSONFault) in _ = try scanner.value() }
            return .array
        case UInt8(ascii: "\""): return .string(isPlain: try string())
        case UInt8(ascii: "t"): return try word("true", .true)
        case UInt8(ascii: "f"): return try word("false", .false)
        case UInt8(ascii: "n"): return try word("null", .null)
        default:
            try number()
            return .number
        }
    }

    private mutating func word(_ word: String, _ kind: JSONObject.Kind) throws(JSONFault) -> JSONObject.Kind {
        for byte in word.utf8 { try require(byte) }
        return kind
    }

    private mutating func string() throws(JSONFault) -> Bool {
        try require(UInt8(ascii: "\""))
        var isPlain = true
        while true {
            guard let byte = next, byte >= 0x20 else { throw .syntax }
            position += 1
            if byte == UInt8(ascii: "\"") { return isPlain }
            guard byte == UInt8(ascii: "\\") else { continue }
            isPlain = false
            guard let escape = next else { throw .syntax }
            position += 1
            if escape == UInt8(ascii: "u") {
                for _ in 0..<4 {
                    guard let digit = next, Character(UnicodeScalar(digit)).isHexDigit else { throw .syntax }
                    position += 1
                }
            } else if !Array(#""\/bfnrt"#.utf8).contains(escape) {
                throw .syntax
            }
        }
    }

    private mutating func number() throws(JSONFault) {
        if next == UInt8(ascii: "-") { position += 1 }
        if next == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if next == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
    }

    private mutating func digits() throws(JSONFault) {
        let start = position
        while let byte = next, (0x30...0x39).contains(byte) { position += 1 }
        guard position > start else { throw .syntax }
    }
}
