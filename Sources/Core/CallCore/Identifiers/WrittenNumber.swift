/// A phone number as people, and the address books of phones, write it.
///
/// One number has many spellings. iOS encloses a number that is copied from the contacts in marks of direction; keyboards
/// for Japanese and Arabic write digits of their own; diallers and URIs append an extension.
///
/// This is the only rule for them: the server compares numbers by it (`PhoneNumber`), and the kits bring handles into their
/// normal form.
public struct WrittenNumber: Equatable, Sendable {
    /// The digits in ASCII, without the prefix of international calls and without an extension.
    public private(set) var digits: [UInt8] = []
    /// Whether a `+` or `00` says that the country code comes first.
    public private(set) var isInternational = false

    enum Part {
        case digit(UInt8), plus, opening, closing, ignored
    }

    /// More digits are not read: those of the longest number, `00`, and a zero in brackets.
    private static let mostDigits = 21

    /// Reads a number; `nil` if the text contains anything that is neither a part of a number nor an extension.
    public init?(_ text: String) {
        let scheme = "tel:"
        var rest = text.unicodeScalars[...]
        if text.prefix(scheme.count).lowercased() == scheme { rest = rest.dropFirst(scheme.count) }
        // The place of the digit that follows an opening bracket.
        var bracket: Int?
        while let scalar = rest.first {
            guard let part = Self.part(scalar) else {
                guard !digits.isEmpty, Self.isAddition(rest) else { return nil }
                break
            }
            guard take(part, &bracket) else { return nil }
            rest = rest.dropFirst()
        }
        if !isInternational, digits.starts(with: Self.prefix) {
            digits.removeFirst(Self.prefix.count)
            isInternational = true
        }
    }

    /// Takes the next part; returns `false` where a number cannot have it.
    private mutating func take(_ part: Part, _ bracket: inout Int?) -> Bool {
        switch part {
        case .digit(let digit):
            guard digits.count < Self.mostDigits else { return false }
            digits.append(digit)
        case .plus:
            guard digits.isEmpty, !isInternational else { return false }
            isInternational = true
        case .opening: bracket = digits.count
        case .closing:
            // In +44 (0)20 the zero is dialled only within the country.
            if let bracket, bracket > 0, digits.count == bracket + 1, digits.last == UInt8(ascii: "0"),
                isInternational || digits.starts(with: Self.prefix)
            {
                digits.removeLast()
            }
            bracket = nil
        case .ignored: break
        }
        return true
    }

    private static let prefix = Array("00".utf8)

    static func part(_ scalar: Unicode.Scalar) -> Part? {
        switch scalar {
        case "0"..."9": .digit(UInt8(scalar.value))
        case "+", "\u{FF0B}", "\u{FE62}", "\u{207A}", "\u{2795}": .plus
        case " ", "-", ".", "/": .ignored
        case "(", "[": .opening
        case ")", "]": .closing
        case "\u{0}"..."\u{7F}": nil
        default: partBeyondASCII(scalar)
        }
    }

    private static func partBeyondASCII(_ scalar: Unicode.Scalar) -> Part? {
        let properties = scalar.properties
        if properties.numericType == .decimal, let value = properties.numericValue, (0...9).contains(value) {
            return .digit(UInt8(ascii: "0") + UInt8(value))
        }
        switch properties.generalCategory {
        case .dashPunctuation: return .ignored
        case .openPunctuation: return .opening
        case .closePunctuation: return .closing
        default: return isBlank(scalar) || isSeparator(scalar) ? .ignored : nil
        }
    }

    /// Returns whether a character is a blank or invisible.
    public static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value > 0x7F else { return scalar == " " }
        let properties = scalar.properties
        return switch properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator, .format: true
        default: properties.isDefaultIgnorableCodePoint
        }
    }

    /// Whether a sign stands for a hyphen, a dot or a slash, although Unicode has it in another category.
    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        // Minus signs, hyphen bullet, long vowel marks, lines.
        case "\u{2212}", "\u{02D7}", "\u{2043}", "\u{30FC}", "\u{FF70}", "\u{2500}", "\u{2501}": true
        // Dots.
        case "\u{B7}", "\u{2022}", "\u{2024}", "\u{2027}", "\u{2219}", "\u{22C5}", "\u{3002}", "\u{30FB}", "\u{FF0E}",
            "\u{FF61}", "\u{FF65}":
            true
        // Slashes.
        case "\u{2044}", "\u{2215}", "\u{FF0F}": true
        default: false
        }
    }
}
