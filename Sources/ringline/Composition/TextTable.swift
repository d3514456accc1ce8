/// Columns for a terminal: each as wide as its widest cell, the last as it is.
struct TextTable {
    private let rows: [[String]]

    /// A table of a head and rows with as many cells.
    init(_ head: [String], _ rows: [[String]]) { self.rows = [head] + rows }

    /// Its lines, each with its end.
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

    /// Without control characters: what a client wrote must not steer the terminal of whoever looks at it.
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
