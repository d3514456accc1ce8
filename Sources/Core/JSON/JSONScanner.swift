/// Walks over JSON text and checks its grammar.
///
/// A scanner stores its position and the nesting depth, but not the text: each step gets the text as an argument. If it
/// stored the text, references would be counted at every step. The text ends where the scanner must stop.
struct JSONScanner {
    private(set) var position: Int
    private var depth = 0

    init(at position: Int) { self.position = position }

    /// Returns the byte at the position; 0 at the end of the text.
    ///
    /// No grammar allows a zero byte, so the end of the text needs no test of its own.
    @inline(__always)
    func byte(_ text: Span<UInt8>) -> UInt8 {
        UInt(bitPattern: position) < UInt(bitPattern: text.count) ? text[position] : 0
    }

    @inline(__always)
    mutating func skipSpace(_ text: Span<UInt8>) {
        // Most texts have no space between two tokens.
        if byte(text) <= 0x20 { skipSpaces(text) }
    }

    @inline(never)
    private mutating func skipSpaces(_ text: Span<UInt8>) {
        while true {
            switch byte(text) {
            case 0x20, 0x0A, 0x0D, 0x09: position &+= 1
            default: return
            }
        }
    }

    /// Returns the members of the object that begins here, and which names they have.
    ///
    /// `scratch`: The list whose memory is used for the members.
    mutating func object(
        _ text: Span<UInt8>,
        _ names: borrowing MemberNames,
        into scratch: consuming [JSONObject.Member]
    ) throws(JSONFault) -> (members: [JSONObject.Member], numbers: UInt64, duplicate: UInt8?) {
        guard byte(text) == UInt8(ascii: "{") else {
            try value(text)
            throw .notAnObject
        }
        var members = consume scratch
        members.removeAll(keepingCapacity: true)
        var numbers: UInt64 = 0
        var duplicate: UInt8?
        var isEmpty = try open(text, UInt8(ascii: "}"))
        while !isEmpty {
            // The list grows by 12 members at a time, so that its storage is not checked for each one.
            try members.append(addingCapacity: 12) { (some: inout OutputSpan<JSONObject.Member>) throws(JSONFault) in
                while !isEmpty, !some.isFull {
                    let (name, isPlainName) = try memberName(text)
                    let start = position
                    let kind = try value(text)
                    let number = names.number(of: name, in: text, isPlain: isPlainName)
                    some.append(.init(name: name, value: start..<position, kind: kind, number: number))
                    isEmpty = try isClosed(text, UInt8(ascii: "}"))
                    guard let number else { continue }
                    let bit: UInt64 = 1 &<< UInt64(number)
                    if numbers & bit != 0, duplicate == nil { duplicate = number }
                    numbers |= bit
                }
            }
        }
        return (members, numbers, duplicate)
    }

    /// Returns the elements of the array that begins here.
    mutating func arrayElements(_ text: Span<UInt8>) throws(JSONFault) -> [JSONArray.Element] {
        guard byte(text) == UInt8(ascii: "[") else { throw .syntax }
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
        switch byte(text) {
        case UInt8(ascii: "\""): return .string(isPlain: try string(text))
        case UInt8(ascii: "{"):
            try nested(text)
            return .object
        case UInt8(ascii: "["):
            try nested(text)
            return .array
        case UInt8(ascii: "t"): return try word(text, 0x6575_7274, count: 4, .true)
        case UInt8(ascii: "f"): return try word(text, 0x65_736C_6166, count: 5, .false)
        case UInt8(ascii: "n"): return try word(text, 0x6C6C_756E, count: 4, .null)
        case UInt8(ascii: "-"), 0x30...0x39:
            try number(text)
            return .number
        default: throw .syntax
        }
    }

    /// Moves behind the object or array that begins here.
    ///
    /// There is no recursion; one bit for each open bracket tells what it encloses. Depth is limited to fewer brackets
    /// than there are bits.
    private mutating func nested(_ text: Span<UInt8>) throws(JSONFault) {
        let outside = depth
        // The lowest bit is that of the innermost bracket: 1 = an object.
        var objects: UInt64 = 0
        while true {
            // A value begins here.
            switch byte(text) {
            case UInt8(ascii: "\""): _ = try string(text)
            case UInt8(ascii: "{"):
                if try !open(text, UInt8(ascii: "}")) {
                    objects = objects &<< 1 | 1
                    _ = try memberName(text)
                    continue
                }
            case UInt8(ascii: "["):
                if try !open(text, UInt8(ascii: "]")) {
                    objects = objects &<< 1
                    continue
                }
            default: try value(text)
            }
            // A value has ended here, and with it perhaps the bracket around it.
            while true {
                if depth == outside { return }
                let isObject = objects & 1 == 1
                if try !isClosed(text, isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    if isObject { _ = try memberName(text) }
                    break
                }
                objects = objects &>> 1
            }
        }
    }

    /// Moves behind the opening bracket and returns whether the brackets are empty.
    ///
    /// If the brackets are empty, the position moves behind the closing bracket too.
    @inline(__always)
    mutating func open(_ text: Span<UInt8>, _ close: UInt8) throws(JSONFault) -> Bool {
        depth &+= 1
        guard depth <= JSONLimits.depth else { throw .tooDeep }
        position &+= 1
        skipSpace(text)
        guard byte(text) == close else { return false }
        position &+= 1
        depth &-= 1
        return true
    }

    /// Returns whether the closing bracket follows the item in brackets that was just read.
    ///
    /// Otherwise a comma must follow, and the position moves to the next item.
    @inline(__always)
    mutating func isClosed(_ text: Span<UInt8>, _ close: UInt8) throws(JSONFault) -> Bool {
        skipSpace(text)
        let byte = byte(text)
        position &+= 1
        if byte == close {
            depth &-= 1
            return true
        }
        guard byte == UInt8(ascii: ",") else { throw .syntax }
        skipSpace(text)
        return false
    }

    /// Reads a name and the colon after it.
    ///
    /// Returns the range of the name without its quotes, and whether the name has no escapes.
    @inline(__always)
    mutating func memberName(_ text: Span<UInt8>) throws(JSONFault) -> (Range<Int>, isPlain: Bool) {
        guard byte(text) == UInt8(ascii: "\"") else { throw .syntax }
        let start = position &+ 1
        let isPlain = try string(text)
        let name = start..<position &- 1
        skipSpace(text)
        guard byte(text) == UInt8(ascii: ":") else { throw .syntax }
        position &+= 1
        skipSpace(text)
        return (name, isPlain)
    }

    /// Reads a string and returns whether the string has no escapes.
    @inline(__always)
    private mutating func string(_ text: Span<UInt8>) throws(JSONFault) -> Bool {
        // Most names, and the ids of many apps, end within eight bytes.
        let specials = TextWord(text.extracting(droppingFirst: position &+ 1)).specials
        guard specials != 0 else { return try string(text, from: position &+ 9) }
        let index = position &+ 1 &+ TextWord.index(ofLowest: specials)
        guard UInt(bitPattern: index) < UInt(bitPattern: text.count), text[index] == UInt8(ascii: "\"") else {
            return try string(text, from: index)
        }
        position = index &+ 1
        return true
    }

    /// Reads the rest of a string, from an index before which there is nothing special.
    private mutating func string(_ text: Span<UInt8>, from start: Int) throws(JSONFault) -> Bool {
        // The rest of the text is a span of its own, so that one comparison with its size permits the next load.
        var rest = text.extracting(droppingFirst: start)
        var isPlain = true
        while true {
            // A description is long: two words at a time.
            while rest.count >= 16 {
                let words = (TextWord(rest), TextWord(rest.extracting(droppingFirst: 8)))
                guard words.0.specials | words.1.specials == 0 else { break }
                rest = rest.extracting(droppingFirst: 16)
            }
            let word = TextWord(rest)
            let specials = word.specials
            guard specials != 0 else {
                rest = rest.extracting(droppingFirst: 8)
                continue
            }
            rest = rest.extracting(droppingFirst: TextWord.index(ofLowest: specials))
            // The zeros behind the end of the text look like control characters.
            guard !rest.isEmpty else { throw .syntax }
            if rest[0] == UInt8(ascii: "\"") {
                position = text.count &- rest.count &+ 1
                return isPlain
            }
            isPlain = false
            rest = rest.extracting(droppingFirst: try escapes(rest))
        }
    }

    /// Returns the size of the escape with which a text begins, or of the two escapes of a line's end.
    @inline(__always)
    private func escapes(_ text: Span<UInt8>) throws(JSONFault) -> Int {
        // A control character must be escaped.
        guard text[0] == UInt8(ascii: "\\"), text.count > 1 else { throw .syntax }
        switch text[1] {
        case UInt8(ascii: "r") where TextWord(text).prefix(4) == 0x6E5C_725C: return 4  // \r\n
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return 2
        case UInt8(ascii: "u"):
            guard text.count > 5 else { throw .syntax }
            for digit in 2...5 {
                guard JSONText.hexDigit(text[digit]) != nil else { throw .syntax }
            }
            return 6
        default: throw .syntax
        }
    }

    /// Returns whether a byte in a string stands for itself and does not end the string.
    @inline(__always)
    static func isOrdinary(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private mutating func number(_ text: Span<UInt8>) throws(JSONFault) {
        if byte(text) == UInt8(ascii: "-") { position &+= 1 }
        if byte(text) == UInt8(ascii: "0") { position &+= 1 } else { try digits(text) }
        if byte(text) == UInt8(ascii: ".") {
            position &+= 1
            try digits(text)
        }
        if byte(text) | 0x20 == UInt8(ascii: "e") {
            position &+= 1
            if byte(text) == UInt8(ascii: "+") || byte(text) == UInt8(ascii: "-") { position &+= 1 }
            try digits(text)
        }
    }

    private mutating func digits(_ text: Span<UInt8>) throws(JSONFault) {
        let start = position
        while (0x30...0x39).contains(byte(text)) { position &+= 1 }
        guard position > start else { throw .syntax }
    }

    /// Reads a literal, given as the bytes of a ``TextWord``.
    private mutating func word(
        _ text: Span<UInt8>,
        _ bytes: UInt64,
        count: Int,
        _ kind: JSONObject.Kind
    ) throws(JSONFault) -> JSONObject.Kind {
        guard TextWord(text.extracting(droppingFirst: position)).prefix(count) == bytes else { throw .syntax }
        position &+= count
        return kind
    }
}
