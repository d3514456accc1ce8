/// Walks over JSON text and checks its grammar, keeping nothing but the place.
struct JSONScanner {
    let bytes: [UInt8]
    private(set) var position: Int
    let end: Int
    private var depth = 0

    init(bytes: [UInt8], at position: Int, end: Int) {
        self.bytes = bytes
        self.position = position
        self.end = end
    }

    mutating func skipSpace() {
        while position < end {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// The members of the object that begins here.
    mutating func objectMembers() throws(JSONFault) -> [JSONObject.Member] {
        guard position < end else { throw .syntax }
        guard bytes[position] == UInt8(ascii: "{") else {
            _ = try value()
            throw .notAnObject
        }
        var members: [JSONObject.Member] = []
        members.reserveCapacity(12)
        try enclosed(UInt8(ascii: "}")) { (scanner) throws(JSONFault) in
            let name = try scanner.memberName()
            let start = scanner.position
            let kind = try scanner.value()
            members.append(.init(name: name, value: start..<scanner.position, kind: kind, field: nil))
        }
        return members
    }

    /// The elements of the array that begins here.
    mutating func arrayElements() throws(JSONFault) -> [JSONArray.Element] {
        guard position < end, bytes[position] == UInt8(ascii: "[") else { throw .syntax }
        var elements: [JSONArray.Element] = []
        try enclosed(UInt8(ascii: "]")) { (scanner) throws(JSONFault) in
            let start = scanner.position
            let kind = try scanner.value()
            elements.append(.init(value: start..<scanner.position, kind: kind))
        }
        return elements
    }

    /// One value of any kind; the place is behind it afterwards.
    @discardableResult
    mutating func value() throws(JSONFault) -> JSONObject.Kind {
        guard position < end else { throw .syntax }
        switch bytes[position] {
        case UInt8(ascii: "{"):
            try enclosed(UInt8(ascii: "}")) { (scanner) throws(JSONFault) in
                _ = try scanner.memberName()
                try scanner.value()
            }
            return .object
        case UInt8(ascii: "["):
            try enclosed(UInt8(ascii: "]")) { (scanner) throws(JSONFault) in try scanner.value() }
            return .array
        case UInt8(ascii: "\""): return .string(isPlain: try string())
        case UInt8(ascii: "t"): return try word("true", .true)
        case UInt8(ascii: "f"): return try word("false", .false)
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), 0x30...0x39:
            try number()
            return .number
        default: throw .syntax
        }
    }

    /// What stands between an opening bracket here and its closing one, separated by commas.
    private mutating func enclosed(
        _ close: UInt8,
        _ one: (inout JSONScanner) throws(JSONFault) -> Void
    ) throws(JSONFault) {
        depth += 1
        guard depth <= WireLimits.depth else { throw .tooDeep }
        position += 1
        skipSpace()
        if position < end, bytes[position] == close {
            position += 1
            depth -= 1
            return
        }
        while true {
            skipSpace()
            try one(&self)
            skipSpace()
            guard position < end else { throw .syntax }
            let byte = bytes[position]
            position += 1
            if byte == close { break }
            guard byte == UInt8(ascii: ",") else { throw .syntax }
        }
        depth -= 1
    }

    /// A name and the colon behind it; where the name stands, without its quotes.
    private mutating func memberName() throws(JSONFault) -> Range<Int> {
        guard position < end, bytes[position] == UInt8(ascii: "\"") else { throw .syntax }
        let start = position + 1
        _ = try string()
        let name = start..<position - 1
        skipSpace()
        guard position < end, bytes[position] == UInt8(ascii: ":") else { throw .syntax }
        position += 1
        skipSpace()
        return name
    }

    /// A string; whether it is without escapes.
    private mutating func string() throws(JSONFault) -> Bool {
        position += 1
        var isPlain = true
        while true {
            position = nextSpecial(from: position)
            guard position < end else { throw .syntax }
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return isPlain }
            // A control character must be escaped.
            guard byte == UInt8(ascii: "\\") else { throw .syntax }
            isPlain = false
            guard position < end else { throw .syntax }
            switch bytes[position] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                position += 1
            case UInt8(ascii: "u"):
                guard position + 4 < end,
                    bytes[position + 1...position + 4].allSatisfy({ JSONText.hexDigit($0) != nil })
                else { throw .syntax }
                position += 5
            default: throw .syntax
            }
        }
    }

    /// Where the next quote, backslash or control character of a string stands: an SDP is long.
    private func nextSpecial(from start: Int) -> Int {
        let text = bytes.span
        var place = start
        while place < end {
            let byte = text[place]
            guard byte >= 0x20, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
            place += 1
        }
        return place
    }

    private mutating func number() throws(JSONFault) {
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        guard position < end else { throw .syntax }
        if bytes[position] == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if position < end, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if position < end, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < end, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
        }
    }

    private mutating func digits() throws(JSONFault) {
        let start = position
        while position < end, (0x30...0x39).contains(bytes[position]) { position += 1 }
        guard position > start else { throw .syntax }
    }

    private mutating func word(_ word: StaticString, _ kind: JSONObject.Kind) throws(JSONFault) -> JSONObject.Kind {
        let text = String(describing: word).utf8
        let count = text.count
        guard position + count <= end, bytes[position..<position + count].elementsEqual(text) else { throw .syntax }
        position += count
        return kind
    }
}
