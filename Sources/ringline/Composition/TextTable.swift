/// A table for a terminal.
///
/// Each column is as wide as its widest cell; the last one is not padded.
struct TextTable {
    private let rows: [[String]]

    /// Creates a table from a header row and rows with as many cells.
    init(_ head: [String], _ rows: [[String]]) { self.rows = [head] + rows }

    /// The table's lines, each with a newline at its end.
    var text: String {
        var widths: [Int] = []
        for row in rows {
            for (column, cell) in row.enumerated() {
                if column == widths.count { widths.append(0) }
                widths[column] = max(widths[column], Self.visible(cell).count)
            }
        }
        var text = ""
        for row in rows {
            var line = ""
            for (column, cell) in row.enumerated() {
                let cell = Self.visible(cell)
                line += cell
                if column < row.count - 1 { line += String(repeating: " ", count: widths[column] - cell.count + 2) }
            }
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        return text
    }

    /// Replaces control characters: text from a client must not control the terminal of the user who reads it.
    static func visible(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar -> Unicode.Scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    default: scalar
                    }
                }
            )
        )
    }
}
