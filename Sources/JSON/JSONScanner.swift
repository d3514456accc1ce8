/// Walks over JSON text and checks its grammar.
///
/// A scanner stores its position and the nesting depth, but not the text: each step gets the text as an argument. If it
/// stored the text, references would be counted at every step.
struct JSONScanner {
    private(set) var position: Int
    let end: Int
    private var depth = 0

    init(at position: Int, end: Int) {
        self.position = position
        self.end = end
    }

    mutating func skipSpace(_ text: Span<UInt8>) {
        while position < end {
            switch text[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// Returns the members of the object that begins here, stored in the memory of `scratch`.
    mutating func objectMembers(
        _ text: Span<UInt8>,
        _ names: borrowing MemberNames,
        into scratch: consuming [JSONObject.Member]
    ) throws(JSONFault) -> [JSONObject.Member] {
        guard position < end else { throw .syntax }
        guard text[position] == UInt8(ascii: "{") else {
            _ = try value(text)
            throw .notAnObject
        }
        var members = consume scratch
        members.removeAll(keepingCapacity: true)
        members.reserveCapacity(12)
        var isEmpty = try open(text, UInt8(ascii: "}"))
        while !isEmpty {
            let (name, isPlainName) = try memberName(text)
            let start = position
            let kind = try value(text)
            let number = names.number(of: name, in: text, isPlain: isPlainName)
            members.append(.init(name: name, value: start..<position, kind: kind, number: number))
            isEmpty = try isClosed(text, UInt8(ascii: "}"))
        }
        return members
    }

    /// Returns the elements of the array that begins here.
    mutating func arrayElements(_ text: Span<UInt8>) throws(JSONFault) -> [JSONArray.Element] {
        guard position < end, text[position] == UInt8(ascii: "[") else { throw .syntax }
        var elements: [JSONArray.Element] = []
        var isEmpty = try open(text, UInt8(ascii: "]"))
        while !isEmpty {
            let start = position
            let kind = try value(text)
            elements.append(.init(value: start..<position, kind: kind))
            isEmpty = try isClosed(text, UInt8(ascii: "]"))
        }
        return elements
    }

    /// Reads one value of any kind and moves the position behind it.
    @discardableResult
    mutating func value(_ text: Span<UInt8>) throws(JSONFault) -> JSONObject.Kind {
        guard position < end else { throw .syntax }
        switch text[position] {
        case UInt8(ascii: "{"):
            var isEmpty = try open(text, UInt8(ascii: "}"))
            while !isEmpty {
                _ = try memberName(text)
                try value(text)
                isEmpty = try isClosed(text, UInt8(ascii: "}"))
            }
            return .object
        case UInt8(ascii: "["):
            var isEmpty = try open(text, UInt8(ascii: "]"))
            while !isEmpty {
                try value(text)
                isEmpty = try isClosed(text, UInt8(ascii: "]"))
            }
            return .array
        case UInt8(ascii: "\""): return .string(isPlain: try string(text))
        case UInt8(ascii: "t"): return try word(text, "true", .true)
        case UInt8(ascii: "f"): return try word(text, "false", .false)
        case UInt8(ascii: "n"): return try word(text, "null", .null)
        case UInt8(ascii: "-"), 0x30...0x39:
            try number(text)
            return .number
        default: throw .syntax
        }
    }

    /// Moves behind the opening bracket and returns whether the brackets are empty.
    ///
    /// If the brackets are empty, the position moves behind the closing bracket too.
    mutating func open(_ text: Span<UInt8>, _ close: UInt8) throws(JSONFault) -> Bool {
        depth += 1
        guard depth <= JSONLimits.depth else { throw .tooDeep }
        position += 1
        skipSpace(text)
        guard position < end, text[position] == close else { return false }
        position += 1
        depth -= 1
        return true
    }

    /// Returns whether the closing bracket follows the item in brackets that was just read.
    ///
    /// Otherwise a comma must follow, and the position moves to the next item.
    mutating func isClosed(_ text: Span<UInt8>, _ close: UInt8) throws(JSONFault) -> Bool {
        skipSpace(text)
        guard position < end else { throw .syntax }
        let byte = text[position]
        position += 1
        if byte == close {
            depth -= 1
            return true
        }
        guard byte == UInt8(ascii: ",") else { throw .syntax }
        skipSpace(text)
        return false
    }

    /// Reads a name and the colon after it.
    ///
    /// Returns the range of the name without its quotes, and whether the name has no escapes.
    mutating func memberName(_ text: Span<UInt8>) throws(JSONFault) -> (Range<Int>, isPlain: Bool) {
        guard position < end, text[position] == UInt8(ascii: "\"") else { throw .syntax }
        let start = position + 1
        let isPlain = try string(text)
        let name = start..<position - 1
        skipSpace(text)
        guard position < end, text[position] == UInt8(ascii: ":") else { throw .syntax }
        position += 1
        skipSpace(text)
        return (name, isPlain)
    }

    /// Reads a string and returns whether the string has no escapes.
    private mutating func string(_ text: Span<UInt8>) throws(JSONFault) -> Bool {
        var place = position + 1
        var isPlain = true
        // An SDP is long. Bytes other than a quote, a backslash or a control character are skipped eight at a time.
        while true {
            while place + 8 <= end, Self.areOrdinary(text.extracting(place..<place + 8)) { place += 8 }
            while place < end, Self.isOrdinary(text[place]) { place += 1 }
            guard place < end else { throw .syntax }
            let byte = text[place]
            place += 1
            if byte == UInt8(ascii: "\"") {
                position = place
                return isPlain
            }
            // A control character must be escaped.
            guard byte == UInt8(ascii: "\\"), place < end else { throw .syntax }
            isPlain = false
            switch text[place] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                place += 1
            case UInt8(ascii: "u"):
                guard place + 4 < end else { throw .syntax }
                for digit in place + 1...place + 4 {
                    guard JSONText.hexDigit(text[digit]) != nil else { throw .syntax }
                }
                place += 5
            default: throw .syntax
            }
        }
    }

    /// Returns whether a byte in a string stands for itself and does not end the string.
    @inline(__always)
    static func isOrdinary(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Returns whether eight bytes all stand for themselves and do not end the string, in one test.
    ///
    /// The result for all eight bytes together is exact. The flag of a single byte can be wrong only in a place above a
    /// special byte (by the borrow of a subtraction), and the special byte sets its own flag anyway.
    @inline(__always)
    private static func areOrdinary(_ eight: Span<UInt8>) -> Bool {
        var word: UInt64 = 0
        for index in 0..<8 { word |= UInt64(eight[index]) << UInt64(8 * index) }
        let ones: UInt64 = 0x0101_0101_0101_0101
        // The highest bit of a byte is set if subtracting the bound from the byte gives a negative number (Mycroft's
        // test).
        let control = (word &- ones &* 0x20) & ~word
        let quote = word ^ ones &* 0x22
        let backslash = word ^ ones &* 0x5C
        let found = control | (quote &- ones) & ~quote | (backslash &- ones) & ~backslash
        return found & (ones &* 0x80) == 0
    }

    private mutating func number(_ text: Span<UInt8>) throws(JSONFault) {
        if text[position] == UInt8(ascii: "-") { position += 1 }
        guard position < end else { throw .syntax }
        if text[position] == UInt8(ascii: "0") { position += 1 } else { try digits(text) }
        if position < end, text[position] == UInt8(ascii: ".") {
            position += 1
            try digits(text)
        }
        if position < end, text[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < end, text[position] == UInt8(ascii: "+") || text[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits(text)
        }
    }

    private mutating func digits(_ text: Span<UInt8>) throws(JSONFault) {
        let start = position
        while position < end, (0x30...0x39).contains(text[position]) { position += 1 }
        guard position > start else { throw .syntax }
    }

    private mutating func word(
        _ text: Span<UInt8>,
        _ word: String,
        _ kind: JSONObject.Kind
    ) throws(JSONFault) -> JSONObject.Kind {
        for byte in word.utf8 {
            guard position < end, text[position] == byte else { throw .syntax }
            position += 1
        }
        return kind
    }
}
