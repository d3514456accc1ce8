/// What people, diallers and URIs write behind a number: an extension, for example.
///
/// A number is compared without it, because all extensions of a number are reached through that number.
extension WrittenNumber {
    /// Whether the rest of a text, behind the digits of a number, is no part of the number.
    static func isAddition(_ rest: Substring.UnicodeScalarView) -> Bool {
        guard let first = rest.first else { return false }
        // Behind a semicolon, a URI has parameters, such as `ext=5` or `phone-context=+82` (RFC 3966, section 3). Diallers
        // pause at a comma and wait at a semicolon, and then send tones.
        if isPause(first) { return true }
        let word = rest.prefix { $0.properties.isAlphabetic }
        guard word.isEmpty ? isMark(first) : words.contains(String(word).lowercased()) else { return false }
        var hasDigit = false
        for scalar in rest.dropFirst(max(word.count, 1)) {
            switch part(scalar) {
            case .digit: hasDigit = true
            case .ignored, .opening, .closing: break
            case .plus: return false
            case nil:
                guard isPause(scalar) || isMark(scalar) || scalar == ":" || scalar == "=" else { return false }
            }
        }
        return hasDigit
    }

    /// The words and letters before an extension, in lower case; `p` and `w` are a dialler's pause and wait.
    private static let words = [
        "x", "\u{FF58}", "p", "w", "ext", "extn", "exten", "extension", "int", "poste", "anexo", "ramal", "доб", "내선",
        "内線", "内线", "分机", "分機",
    ]

    private static func isPause(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case ",", ";", "\u{FF0C}", "\u{FF1B}", "\u{3001}", "\u{60C}", "\u{61B}": true
        default: false
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "#", "*", "~", "\u{D7}", "\u{FF03}", "\u{FF0A}", "\u{FF5E}": true
        default: false
        }
    }
}
