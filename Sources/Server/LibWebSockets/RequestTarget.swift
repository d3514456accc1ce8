import CallPorts

/// The target of a request as the client wrote it: a path, and the parameters of a query.
struct RequestTarget {
    /// The bit that ``RequestFilter`` sets in each byte after the first, so that the library leaves the target as it is.
    static let mark: UInt8 = 0x80

    /// The path, with its escapes.
    let path: String
    /// The query's parameters, decoded; a name without `=` has an empty value.
    let query: [HTTPField]

    /// Reads a target; `nil` if it is no path, has an invalid escape or an escaped line break, or has a part that is `.` or
    /// `..`.
    ///
    /// Nothing is folded: a proxy that compares paths with its rules has compared this one as it is. For the same reason
    /// a part `.` or `..`, also an escaped one, is refused: another reader may fold it.
    ///
    /// In the query, `+` stays as it is. HTML forms write a blank so, but no parameter has one, and phone numbers begin
    /// with it.
    init?(_ text: some Collection<UInt8>) {
        guard text.first == UInt8(ascii: "/") else { return nil }
        let end = text.firstIndex(of: UInt8(ascii: "?")) ?? text.endIndex
        for part in text[..<end].split(separator: UInt8(ascii: "/")) {
            guard let decoded = Self.decoded(part), decoded != Self.dot, decoded != Self.dot + Self.dot else {
                return nil
            }
        }
        path = String(decoding: text[..<end], as: UTF8.self)
        var query: [HTTPField] = []
        if end != text.endIndex {
            for pair in text[text.index(after: end)...].split(separator: UInt8(ascii: "&")) {
                let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
                let rest = equals == pair.endIndex ? pair[equals...] : pair[pair.index(after: equals)...]
                guard let name = Self.decoded(pair[..<equals]), let value = Self.decoded(rest) else { return nil }
                query.append(HTTPField(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
            }
        }
        self.query = query
    }

    /// Takes a target as the library has decoded it; `nil` if it is no path.
    init?(path: String, query: [HTTPField]) {
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        // The library has replaced `+` by a blank.
        self.path = String(decoding: path.utf8.map { $0 == 32 ? UInt8(ascii: "+") : $0 }, as: UTF8.self)
        self.query = query
    }

    private static let dot = [UInt8(ascii: ".")]

    /// Returns a text with its escapes resolved; `nil` if one is invalid or a line break.
    static func decoded(_ text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
            let decoded = high << 4 | low
            // No field has a line break, and in a log or a header it could begin another line.
            guard decoded != UInt8(ascii: "\r"), decoded != UInt8(ascii: "\n") else { return nil }
            bytes.append(decoded)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }
}
