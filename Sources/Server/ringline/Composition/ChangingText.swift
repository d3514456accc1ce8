import CallCore
import CallTrace
import Glibc

/// Text on stdout that changes: on a terminal it is drawn again in its place, elsewhere it is printed again.
///
/// The command flushes stdout. A terminal cannot change lines that have scrolled off its screen.
struct ChangingText {
    /// Whether stdout is a terminal that can draw lines again.
    static let isOnTerminal = isatty(1) == 1 && getenv("TERM").map { String(cString: $0) } != "dumb"

    /// The size of the terminal, which its user may change at any time.
    private struct Screen {
        var rows = 24
        var columns = 80

        init() {
            var size = winsize()
            guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return }
            (rows, columns) = (Int(size.ws_row), Int(size.ws_col))
        }

        /// Returns the number of rows that a line has; the terminal breaks long ones.
        func rows(of line: Substring) -> Int { max(1, (line.terminalWidth + columns - 1) / columns) }
    }

    /// Whether a text that is longer than the screen is cut at its end, so that its beginning stays in sight.
    private let keepsBeginning: Bool
    /// The lines that were printed last.
    private var shown: [Substring] = []

    init(keepsBeginning: Bool = false) { self.keepsBeginning = keepsBeginning }

    /// Shows a text, of which most is often unchanged.
    mutating func show(_ text: String) {
        let screen = Screen()
        var lines = Array(text.split(separator: "\n", omittingEmptySubsequences: false).dropLast())
        if keepsBeginning, Self.isOnTerminal { cut(&lines, screen) }
        let same = zip(shown, lines).prefix { $0 == $1 }.count
        guard same < max(shown.count, lines.count) else { return }
        var kept = same
        if same < shown.count {
            if Self.isOnTerminal {
                // Up to the first line that has changed and is still on the screen, and clear from there.
                var rows = 0
                kept = shown.count
                while kept > same, rows + screen.rows(of: shown[kept - 1]) < screen.rows {
                    kept -= 1
                    rows += screen.rows(of: shown[kept])
                }
                if rows > 0 { print("\u{1b}[\(rows)F\u{1b}[J", terminator: "") }
                // A text that has become shorter has other lines in this place.
                if kept > same { kept = min(kept, max(0, lines.count - (shown.count - kept))) }
            } else {
                print()
                kept = 0
            }
        }
        for line in lines.dropFirst(kept) { print(line) }
        shown = lines
    }

    /// Cuts lines that the screen has no room for, and says how many.
    private func cut(_ lines: inout [Substring], _ screen: Screen) {
        var (rows, count) = (0, 0)
        // The cursor is below the last line.
        while count < lines.count, rows + screen.rows(of: lines[count]) < screen.rows {
            rows += screen.rows(of: lines[count])
            count += 1
        }
        guard count < lines.count else { return }
        let fitting = max(0, count - 1)
        lines = lines.prefix(fitting) + ["… \(lines.count - fitting) more"]
    }
}

/// The ladder of a call that goes on, which grows on stdout.
///
/// Elsewhere than on a terminal, where lines cannot be drawn again, only new lines are printed.
final class GrowingLadder {
    private var onTerminal = ChangingText()
    private var heading = ""
    private var rows = 0

    /// Shows the call as it is now.
    func show(_ call: Explanation) {
        let ladder = call.parts.ladder
        let title = TextColumn(width: 80, indent: 2).fit(call.parts.title)
        if ChangingText.isOnTerminal { return onTerminal.show("\(title)\n\n\(ladder)") }
        let lines = ladder.split(separator: "\n").map(String.init)
        guard let first = lines.first else { return }
        if heading.isEmpty { print("\(title)\n") }
        if first != heading {
            // Another device takes part.
            if rows > 0 { print() }
            print(first)
            (heading, rows) = (first, 0)
        }
        for row in lines.dropFirst(rows + 1) { print(row) }
        rows = max(rows, lines.count - 1)
    }
}

/// Paragraphs that fit the width of a terminal.
struct TextColumn {
    let width: Int
    /// The blanks before a line that continues another one.
    let indent: Int

    /// Returns a text with its lines broken between words.
    func fit(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { fit(line: $0) }.joined(separator: "\n")
    }

    private func fit(line: Substring) -> String {
        var rest = line
        var lines: [Substring] = []
        let blanks = String(repeating: " ", count: indent)
        while rest.count > (lines.isEmpty ? width : width - indent) {
            let limit = lines.isEmpty ? width : width - indent
            // A word that is longer than a line stays whole.
            let reach = rest.index(rest.startIndex, offsetBy: limit + 1, limitedBy: rest.endIndex) ?? rest.endIndex
            let words = rest.firstIndex { $0 != " " } ?? rest.startIndex
            guard let end = rest[words..<reach].lastIndex(of: " ") ?? rest[reach...].firstIndex(of: " ") else { break }
            lines.append(rest[..<end])
            rest = rest[rest.index(after: end)...]
        }
        return (lines + [rest]).joined(separator: "\n\(blanks)")
    }
}
