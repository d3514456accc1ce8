/// Decoding of JSON strings, and checks for UTF-8 and for one value (RFC 8259).
public enum JSONText {
    /// Returns whether a text is one JSON value, which may become a member of an object.
    public static func isValue(_ text: String) -> Bool {
        let array = Array("[\(text)]".utf8)
        // The kind of the fault does not matter. Of two values with a comma between them, an array has two elements.
        return (try? JSONArray(array, in: 0..<array.count))?.elements.count == 1
    }

    /// Returns the content of a string, given without its quotes, as UTF-8 with escapes resolved; `nil` if it contains
    /// a lone surrogate.
    public static func decoded(_ inner: ArraySlice<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(inner.count)
        var index = inner.startIndex
        while index < inner.endIndex {
            // A description has an escape at the end of each line. The bytes between two escapes are copied in one
            // step.
            let start = index
            while index < inner.endIndex, inner[index] != UInt8(ascii: "\\") { index += 1 }
            result.append(contentsOf: inner[start..<index])
            guard index < inner.endIndex else { break }
            index += 1
            let escape = inner[index]
            index += 1
            switch escape {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = scalar(inner, at: &index) else { return nil }
                result.append(contentsOf: Array(String(Character(scalar)).utf8))
            default: result.append(escape)
            }
        }
        return result
    }

    /// Returns the scalar of `\uXXXX`, or of two such escapes that form a surrogate pair.
    ///
    /// The digits of the first escape begin at `index`, which is moved behind the last digit.
    private static func scalar(_ text: ArraySlice<UInt8>, at index: inout Int) -> Unicode.Scalar? {
        guard let first = unit(text, at: index) else { return nil }
        index += 4
        guard 0xD800..<0xE000 ~= first else { return Unicode.Scalar(first) }
        guard first < 0xDC00, index + 5 < text.endIndex, text[index] == UInt8(ascii: "\\"),
            text[index + 1] == UInt8(ascii: "u"), let second = unit(text, at: index + 2), 0xDC00..<0xE000 ~= second
        else { return nil }
        index += 6
        return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    }

    private static func unit(_ text: ArraySlice<UInt8>, at index: Int) -> UInt16? {
        guard index + 4 <= text.endIndex else { return nil }
        var value: UInt16 = 0
        for byte in text[index..<index + 4] {
            guard let digit = hexDigit(byte) else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// Returns whether these bytes are valid UTF-8.
    public static func isUTF8(_ bytes: [UInt8]) -> Bool {
        // Invalid UTF-8 is decoded as U+FFFD, so the bytes differ. (`UTF8Span` would need no copy, but iOS has it only
        // from 26 on.)
        String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes)
    }
}
