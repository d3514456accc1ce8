import CallTrace
import Glibc

/// Text on stdout that changes: on a terminal it is drawn again in its place, elsewhere it is printed again.
struct ChangingText {
    /// Whether stdout is a terminal.
    static let isOnTerminal = isatty(1) == 1
    /// The width of the terminal, at which it breaks long lines.
    private static let columns: Int = {
        var size = winsize()
        return ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }()

    /// The lines that are on the screen.
    private var shown: [Substring] = []

    /// Shows a text, of which most is often unchanged.
    mutating func show(_ text: String) {
        let lines = Array(text.split(separator: "\n", omittingEmptySubsequences: false).dropLast())
        let same = zip(shown, lines).prefix { $0 == $1 }.count
        guard same < max(shown.count, lines.count) else { return }
        var kept = same
        if same < shown.count {
            if Self.isOnTerminal {
                // Up to the first line that has changed, and clear from there.
                let rows = shown[same...].reduce(0) { $0 + max(1, ($1.count + Self.columns - 1) / Self.columns) }
                print("\u{1b}[\(rows)F\u{1b}[J", terminator: "")
            } else {
                print()
                kept = 0
            }
        }
        for line in lines.dropFirst(kept) { print(line) }
        fflush(nil)
        shown = lines
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
        fflush(nil)
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
