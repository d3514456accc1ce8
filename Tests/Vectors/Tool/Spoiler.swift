import SeededRandom

/// Spoils inputs: the bridge must refuse or understand each of them, and never trap.
struct Spoiler {
    private var generator: SeededGenerator

    /// Values that parsers and clocks of other systems have stumbled over.
    private static let values = [
        "null", "true", "0", "-0", "-1", "1e400", "1.5", "1E2", "NaN", "Infinity", "2147483647", "2147483648",
        "4294967295", "4294967296", "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "99999999999999999999999999",
        "\"9999999999999\"", "\"\"", "\" \"", #""\ud800""#, #""\udc00\ud800""#, #""\u0000""#, #""\ud83d\ude00""#,
        #""\u2028""#, "\"e\u{301}\"", "[]", "{}", "[[[[[[[[[[", "\u{7f}", "\u{feff}",
    ]

    init(seed: UInt64) { generator = SeededGenerator(seed: ~seed) }

    /// Returns a line with every other input spoilt; the configuration stays.
    mutating func spoil(_ line: [UInt8]) -> [UInt8] {
        guard generator.below(2) == 0, let colon = line.firstRange(of: Array(",\"input\":".utf8)) else { return line }
        var now = Array(line[..<colon.lowerBound])
        if generator.below(50) == 0 {
            now = Array("{\"now\":\(pick(["0", "-1", "-62135596800000", "253402300799999", "999999999999999"]))".utf8)
        }
        var text = String(decoding: line[colon.upperBound...].dropLast(), as: UTF8.self)
        for _ in 0...generator.below(3) { text = spoilt(text) }
        return now + line[colon] + text.utf8 + Array("}".utf8)
    }

    private mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(generator.below(values.count))] }

    private mutating func spoilt(_ text: String) -> String {
        guard !text.isEmpty else { return pick(Self.values) }
        switch generator.below(10) {
        case 0, 1, 2, 3:
            // A value becomes another one.
            let values = text.matches(of: /:("(?:[^"\\]|\\.)*"|-?\d+|true|false|null)/)
            guard !values.isEmpty else { return text }
            let match = pick(values)
            return text.replacing(match.range, with: ":" + pick(Self.values))
        case 4:
            // A value within an escaped text, such as a frame.
            let values = text.matches(of: /\\":(\\"[^"\\]*\\"|-?\d+|true|false|null)/)
            guard !values.isEmpty else { return text }
            let value = pick(Self.values).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            return text.replacing(pick(values).range, with: "\\\":" + value)
        case 5:
            // A member occurs twice.
            let members = text.matches(of: /"\w+":(?:"[^"\\]*"|\d+)/)
            guard !members.isEmpty else { return text }
            return "{" + pick(members).0 + "," + text.dropFirst()
        case 6:
            let depth = Int(generator.below(80))
            let brackets = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return text.replacing(/\}$/, with: ",\"x\":\(brackets)}")
        case 7: return String(text.unicodeScalars.prefix(Int(generator.below(text.unicodeScalars.count + 1))))
        default:
            var scalars = Array(text.unicodeScalars)
            let place = Int(generator.below(scalars.count))
            switch generator.below(3) {
            case 0: scalars.remove(at: place)
            case 1: scalars.insert(contentsOf: pick(Self.values).unicodeScalars, at: place)
            default: scalars[place] = pick(Array("\"\\{}[]:,0e-. é\u{1}\u{10ffff}".unicodeScalars))
            }
            return String(String.UnicodeScalarView(scalars)).replacing("\n", with: " ").replacing("\r", with: " ")
        }
    }
}

extension String {
    /// Returns the text with a part replaced.
    fileprivate func replacing(_ range: Range<Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}
