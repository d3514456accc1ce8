/// Texts of clients in the form in which people see them: names, handles, and the bodies of alerts.
extension String {
    /// Returns the text in at most that many characters, without what may not be shown; `nil` if nothing in it is visible.
    ///
    /// Left out are control characters, characters that override the direction of writing, and isolates that are not
    /// closed: with them a name could write over the text around it. So are most of the marks if hundreds of them are put on
    /// one character. A line break becomes a blank. The joiners of emoji
    /// and of scripts such as Persian and Hindi stay, and so do isolates that are closed.
    public func shown(upTo count: Int = .max) -> String? {
        // Most names are printable ASCII, whose characters need not be counted.
        if utf8.count <= count, utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
            return utf8.contains { $0 != 0x20 } ? self : nil
        }
        var text = ShownText()
        for character in cut(to: count) {
            for scalar in character.unicodeScalars.prefix(Self.scalarsPerCharacter) { text.append(scalar) }
        }
        return text.finish()
    }

    /// How many of a character's scalars are shown: an emoji of a family has eleven, and a character without a limit could
    /// fill a whole push.
    private static var scalarsPerCharacter: Int { 32 }

    /// Returns the text cut to at most that many characters.
    ///
    /// The cut is between two characters as people see them (grapheme clusters), because part of an emoji shows as
    /// something else.
    public func cut(to count: Int) -> String {
        utf8.count <= count || self.count <= count ? self : String(prefix(count))
    }
}

/// Collects the characters of a text that may be shown.
private struct ShownText {
    private var scalars: [Unicode.Scalar] = []
    /// The places of the isolates that are not closed yet.
    private var open: [Int] = []
    private var isVisible = false
    /// Whether the last character read was a line break or a tab.
    private var isBroken = false

    mutating func append(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        // Tabs and line breaks.
        case 0x09...0x0D, 0x85, 0x2028, 0x2029: isBroken = true
        // Controls, embeddings and overrides, deprecated format characters, annotations.
        case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x206A...0x206F, 0xFFF9...0xFFFB: break
        case 0x2066...0x2068:
            keep(scalar)
            open.append(scalars.count - 1)
        case 0x2069: if open.popLast() != nil { keep(scalar) }
        default:
            keep(scalar)
            isVisible = isVisible || scalar.isVisible
        }
    }

    private mutating func keep(_ scalar: Unicode.Scalar) {
        if isBroken, !scalars.isEmpty { scalars.append(" ") }
        isBroken = false
        scalars.append(scalar)
    }

    consuming func finish() -> String? {
        guard isVisible else { return nil }
        var text = String.UnicodeScalarView()
        var left = open[...]
        for (place, scalar) in scalars.enumerated() {
            if left.first == place { left.removeFirst() } else { text.append(scalar) }
        }
        return String(text)
    }
}

extension Unicode.Scalar {
    /// Whether this character alone is visible.
    fileprivate var isVisible: Bool {
        switch value {
        // Latin, kana, Chinese characters, Hangul: most names, without a look-up.
        case 0x21...0x7E, 0xA1...0xAC, 0xAE...0x2FF, 0x3041...0x3096, 0x30A1...0x30FA, 0x4E00...0x9FFF, 0xAC00...0xD7A3:
            return true
        // Characters without a glyph, in the categories of letters and symbols: the blank of Braille, a replaced object, a
        // blank note head, blank hieroglyphs.
        case 0x2800, 0xFFFC, 0x1D159, 0x13441, 0x13442: return false
        default: break
        }
        if properties.isDefaultIgnorableCodePoint || properties.isNoncharacterCodePoint { return false }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .spaceSeparator, .lineSeparator, .paragraphSeparator, .nonspacingMark,
            .spacingMark, .enclosingMark:
            return false
        // A letter or an emoji of a later Unicode is unassigned to this library.
        default: return true
        }
    }
}
