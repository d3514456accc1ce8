/// The form in which text from outside is shown to people: in logs, on a terminal, in tables.
extension String {
    /// The text with each of these characters escaped as `\u{…}`: control characters, line and paragraph separators,
    /// and characters that change the direction of writing.
    ///
    /// Once they are escaped, the text cannot forge a log line, control a terminal, or hide the text around it.
    package var printable: String {
        // Nearly all text is printable ASCII, which is returned without a copy.
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
        return unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
